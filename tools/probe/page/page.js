/* Draws what `rawhal probe show --html` put into the page as JSON. Names are whatever a file has: they reach the page as
   text nodes only, never as markup. */
(() => {
  const {shown, plural, make, code, table} = pageText;
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const MOST_LINES = 4000, MOST_ROWS = 1000, MOST_LANES = 24, LANES = 64;

  /* ---- Numbers ---- */

  const hex = (number) => `0x${number.toString(16)}`;
  const count = (number) => number.toLocaleString("en");
  const share = (part, all) => all ? part / all : 0;
  const percent = (part, all) => `${(100 * share(part, all)).toFixed(1)}%`;
  const mean = (part, all) => share(part, all).toFixed(2);

  /* A bar of a part of one, `kind` is "", "worse" or "bad". */
  function bar(part, kind = "") {
    const fill = make("span", {className: kind});
    fill.style.width = `${100 * Math.max(0, Math.min(1, part))}%`;
    return make("span", {className: "bar"}, fill);
  }
  const barred = (text, part, kind) => make("span", {className: "cell"}, text, bar(part, kind));
  const quality = (part) => part > 0.8 ? "" : part > 0.4 ? "worse" : "bad";

  /* A table whose cells may be elements; rows beyond the first thousand are counted. */
  function grid(caption, heads, rows) {
    const cell = (one) => make("td", {className: typeof one === "number" ? "number" : "text"},
      one instanceof Node ? one : typeof one === "number" ? count(one) : shown(one));
    const body = rows.slice(0, MOST_ROWS).map((cells) => make("tr", {}, ...cells.map(cell)));
    const rest = rows.length > MOST_ROWS ? `; the first ${MOST_ROWS} of ${count(rows.length)}` : "";
    return make("div", {className: "scroll"}, make("table", {}, make("caption", {}, caption + rest),
      make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", {scope: "col"}, text)))),
      make("tbody", {}, ...body)));
  }
  const part = (heading, ...inside) => make("section", {}, make("h3", {}, heading), ...inside);

  /* ---- Waves ---- */

  const svgNode = (tag, properties, ...inside) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(properties))
      node.setAttribute(name, value);
    node.append(...inside);
    return node;
  };
  const unitName = (unit) => `XCC ${unit.xcc} engine ${unit.engine}.${unit.array} CU ${unit.cu}`;
  /* The same of a work-group, whatever its waves are. */
  const colour = (x, y, z) => (x + 7 * y + 13 * z) % 6;

  /* Waves of a unit in as few rows as they fit in, one beside the other. */
  function stack(sample) {
    const ends = [];
    return [...sample].sort((a, b) => a[4] - b[4]).map((wave) => {
      let row = ends.findIndex((end) => end <= wave[4]);
      if (row < 0)
        row = Math.min(ends.length, MOST_LANES - 1);
      ends[row] = Math.max(ends[row] ?? 0, wave[5] ?? Infinity);
      return {wave, row};
    });
  }

  function drawTimeline(waves) {
    const WIDE = 900, LEFT = 190, ROW = 7, LABEL = 12, all = Math.max(1, waves.ticks);
    const svg = svgNode("svg", {role: "img", "aria-label": `${plural(waves.sample.length, "wave")} on ` +
      `${plural(waves.units.length, "compute unit")}; the table below has each unit`});
    const at = (tick) => LEFT + WIDE * tick / all;
    let top = 4;
    waves.units.forEach((unit, index) => {
      const placed = stack(waves.sample.filter((wave) => wave[1] === index));
      const high = Math.max(LABEL, ROW * Math.max(1, ...placed.map((one) => one.row + 1)));
      svg.append(svgNode("rect", {class: "row", x: LEFT, y: top, width: WIDE, height: high}),
        svgNode("text", {x: 2, y: top + LABEL - 2}, unitName(unit)));
      for (const {wave, row} of placed) {
        const [number, , simd, slot, start, end, x, y, z] = wave, from = at(start);
        svg.append(svgNode("rect", {class: `wave c${colour(x, y, z)}${end === null ? " going" : ""}`, x: from,
          y: top + ROW * row, width: Math.max(1, at(end ?? all) - from), height: ROW - 1},
        svgNode("title", {}, `wave ${number}, work-group ${x}, ${y}, ${z}: SIMD ${simd}, slot ${slot}, ` +
          `${count(start)} to ${end === null ? "no end" : count(end)}`)));
      }
      top += high + 2;
    });
    svg.append(svgNode("text", {x: LEFT, y: top + 11}, "0"),
      svgNode("text", {x: LEFT + WIDE, y: top + 11, "text-anchor": "end"}, `${count(waves.ticks)} ticks`));
    svg.setAttribute("viewBox", `0 0 ${LEFT + WIDE + 4} ${top + 18}`);
    svg.setAttribute("width", LEFT + WIDE + 4);
    return svg;
  }

  function drawWaves(one) {
    const {waves} = one;
    if (!waves.recorded && !waves.lost)
      return null;
    const drawn = waves.sample_every > 1 ? `One in ${count(waves.sample_every)} waves is drawn. `
      : "Every recorded wave is drawn. ";
    const most = Math.max(1, ...waves.units.map((unit) => unit.waves));
    const times = one.host_time ? "Times are the host's, and rank nothing." : "";
    return part("Waves", make("p", {}, `${plural(waves.recorded, "wave")} recorded, ${count(waves.lost)} lost, ` +
      `${count(waves.unfinished)} without an end; ${count(waves.at_once)} at once at most. ` +
      `The unit with most has ${mean(most * waves.units.length, waves.recorded)} times the mean.`),
    make("figure", {}, make("div", {className: "scroll", tabIndex: 0}, drawTimeline(waves)),
      make("figcaption", {}, `${drawn}A colour is a work-group's, of several. ${times}`)),
    make("details", {}, make("summary", {}, plural(waves.units.length, "compute unit")), grid("Waves of each", ["Unit", "Waves", "SIMD 0", "SIMD 1", "SIMD 2", "SIMD 3", "At once", "Ticks"],
      waves.units.map((unit) => [unitName(unit), barred(count(unit.waves), unit.waves / most), ...unit.simds,
        unit.at_once, unit.ticks]))));
  }

  /* ---- Code ---- */

  /* The bytes of a block, as words, where no one has named its instructions. */
  function wordsOf(block) {
    const words = [];
    for (let at = 0; block.code && at + 8 <= block.code.length; at += 8)
      words.push({offset: block.offset + at / 2,
        text: block.code.slice(at, at + 8).replace(/(..)(..)(..)(..)/, "$4$3$2$1")});
    return words;
  }

  function branchText(one, offset, branches) {
    const branch = branches.get(offset);
    if (!branch)
      return "";
    const all = branch.taken === null ? null : branch.taken + branch.not_taken;
    return `  \u2192 ${hex(branch.target)}, taken ${all === null ? "?" : percent(branch.taken, all)}`;
  }

  function drawListing(one) {
    const branches = new Map(one.branches.map((branch) => [branch.offset, branch]));
    const most = Math.max(1, ...one.blocks.map((block) => block.executed));
    const rows = [];
    let left = MOST_LINES, missing = 0;
    for (const block of [...one.blocks].sort((a, b) => a.offset - b.offset)) {
      rows.push(make("tr", {className: "block"}, make("td", {className: "at"}, hex(block.offset)),
        make("td", {className: "count"}, `${count(block.count)} \u00d7 ${count(block.instructions)}`),
        make("td", {className: "heat"}, percent(block.executed, one.instructions), bar(block.executed / most)),
        make("td", {}, block.lanes === null ? "" : `${mean(block.lanes, block.count)} lanes`)));
      const lines = block.lines ?? wordsOf(block);
      for (const line of lines.slice(0, left))
        rows.push(make("tr", {}, make("td", {className: "at"}, hex(line.offset)), make("td", {}), make("td", {}),
          make("td", {}, shown(line.text), branchText(one, line.offset, branches))));
      missing += Math.max(0, lines.length - left);
      left = Math.max(0, left - lines.length);
    }
    const rest = [one.blocks_left_out ? `${plural(one.blocks_left_out, "block")} that ran less are left out` : null,
      missing ? `${plural(missing, "line")} more are left out` : null,
      one.no_code ? `instructions have no names: ${shown(one.no_code)}` : null].filter(Boolean).join("; ");
    return make("div", {className: "scroll"}, make("table", {className: "listing"},
      make("caption", {}, "Times that waves entered \u00d7 instructions; share of all instructions" +
        (rest ? `. Of this kernel, ${rest}.` : "")), make("tbody", {}, ...rows)));
  }

  function drawCode(one) {
    if (!one.blocks.length)
      return null;
    const parts = [part("Hot blocks", make("p", {}, `${count(one.instructions)} instructions of waves.`), drawListing(one))];
    const divergent = one.blocks.filter((block) => block.lanes !== null && block.count);
    if (divergent.length)
      parts.push(part("Divergence", grid("Lanes that were active, on average of 64", ["Block", "Entered", "Lanes"],
        divergent.map((block) => [hex(block.offset), block.count,
          barred(mean(block.lanes, block.count), share(block.lanes, block.count * LANES),
            quality(share(block.lanes, block.count * LANES)))]))));
    if (one.branches.length)
      parts.push(part("Branches", grid("Conditional branches", ["Branch", "To", "Taken", "Not taken", "Share taken", ""],
        one.branches.map((branch) => [hex(branch.offset), hex(branch.target), branch.taken ?? "?", branch.not_taken,
          branch.taken === null ? "?" : barred(percent(branch.taken, branch.taken + branch.not_taken),
            share(branch.taken, branch.taken + branch.not_taken)), branch.instruction ?? ""]))));
    return parts;
  }

  /* ---- Memory ---- */

  const nameOf = (one, index) => one.allocations[index].name ?? one.allocations[index].address;

  function placesOf(one, {allocations, other_allocations: others, elsewhere}) {
    const names = allocations.map(({allocation}) => shown(nameOf(one, allocation)));
    return [...names, others ? "others" : null, elsewhere ? "no allocation" : null].filter(Boolean).join(", ");
  }

  function drawLines(one) {
    const sites = one.accesses.filter((site) => site.global);
    const lines = (global, size) => {
      const good = share(global[`least_${size}`], global[`lines_${size}`]);
      return barred(`${mean(global[`lines_${size}`], global.times)} for ` +
        `${mean(global[`least_${size}`], global.times)}: ${(100 * good).toFixed(0)}%`, good, quality(good));
    };
    return sites.length ? part("Coalescing", grid("Lines that one instruction touches, for those that its bytes fill",
      ["Offset", "Access", "Times", "Lanes", "64 bytes", "128 bytes", "To", ""],
      sites.map((site) => [hex(site.offset), `${site.access} ${site.bytes_each} B`, site.global.times,
        mean(site.global.lanes, site.global.times), lines(site.global, 64), lines(site.global, 128),
        make("span", {className: "name"}, placesOf(one, site.global)), site.instruction ?? ""]))) : null;
  }

  function drawBanks(one) {
    const sites = one.accesses.filter((site) => site.lds);
    return sites.length ? part("Bank conflicts", grid("Passes for each group of lanes; model: 32 banks of 4 bytes",
      ["Offset", "Access", "Times", "Degree", "Worst", "Offsets in LDS", ""],
      sites.map((site) => [hex(site.offset), `${site.access} ${site.bytes_each} B`, site.lds.times,
        barred(mean(site.lds.passes, site.lds.groups), share(site.lds.passes, site.lds.groups) / 32,
          quality(share(site.lds.groups, site.lds.passes))), site.lds.worst,
        `${count(site.lds.first)} to ${count(site.lds.last)}`, site.instruction ?? ""]))) : null;
  }

  /* Density by a colour of its own: the square root makes few accesses visible, too. */
  function drawPicture(place, name) {
    const rows = place.picture, wide = rows[0].length, high = rows.length;
    const canvas = make("canvas", {width: wide, height: high}), pen = canvas.getContext("2d");
    const most = Math.max(1, ...rows.map((row) => Math.max(...row)));
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `accesses of ${name}, over their order and its addresses`);
    pen.fillStyle = "#1f5fa8";
    rows.forEach((row, y) => row.forEach((number, x) => {
      pen.globalAlpha = Math.sqrt(number / most);
      pen.fillRect(x, y, 1, 1);
    }));
    return make("figure", {}, make("figcaption", {}, code(name),
      `: ${count(place.size)} bytes at ${place.address}, ${count(place.accesses)} accesses; a row is ` +
      `${count(Math.ceil(place.size / high))} bytes, the darkest cell has ${count(most)}`), canvas);
  }

  function drawPlaces(one) {
    const places = one.allocations.map((place, index) => ({place, name: nameOf(one, index)}))
      .filter(({place}) => place.accesses);
    if (!places.length && !one.elsewhere.accesses)
      return null;
    const pictures = places.filter(({place}) => place.picture);
    const without = places.length - pictures.length;
    return part("Memory", grid("Allocations that were accessed",
      ["Argument", "Address", "Size", "Read by lanes", "Written", "Bytes", "Footprint", "From", "To"],
      places.map(({place, name}) => [code(name), place.address, place.size, place.reads, place.writes, place.bytes,
        place.footprint === null ? "?" : barred(count(place.footprint), share(place.footprint, place.size)),
        `+${count(place.first)}`, `+${count(place.last)}`])),
    one.elsewhere.accesses ? make("p", {}, `${count(one.elsewhere.accesses)} accesses led to no allocation, from ` +
      `${one.elsewhere.least} to ${one.elsewhere.most}.`) : "",
    ...pictures.map(({place, name}) => drawPicture(place, name)),
    without > 0 ? make("p", {className: "quiet"}, `${plural(without, "allocation")} with fewer accesses have no picture.`)
      : "");
  }

  /* ---- Values and barriers ---- */

  const lanesOf = (value) => value.lanes.length === 1 ? value.lanes[0]
    : value.lanes.map((lane, index) => lane === null ? null : `${index}: ${lane}`).filter(Boolean).join(", ");
  const drawValues = (one) => one.values.length ? part("Values", grid("The first of each place",
    ["Offset", "Register", "Times", "Wave", "Value", ""], one.values.flatMap((site) => site.first.map((value) =>
      [hex(site.offset), site.register, site.times, value.wave, lanesOf(value), site.instruction ?? ""])))) : null;

  function lastOf(barrier) {
    if (barrier.last === null)
      return "not told";
    return barrier.last.map((times, wave) => times ? `wave ${wave}: ${count(times)}` : null).filter(Boolean).join(", ");
  }
  const drawBarriers = (one) => one.barriers.length ? part("Barriers", table("Waves that arrived",
    ["Offset", "Arrivals", "Last of its work-group", ""], one.barriers.map((barrier) => [hex(barrier.offset),
      barrier.times, lastOf(barrier), barrier.instruction ?? ""]))) : null;

  /* ---- Dispatches ---- */

  function factsOf(one) {
    const events = one.events.recorded || one.events.lost
      ? `${count(one.events.recorded)} recorded, ${count(one.events.lost)} lost` : null;
    const list = make("dl", {});
    for (const [title, text] of [["Kernel", one.kernel], ["Device", one.device],
      ["Grid", `${one.work_items.join(" x ")} work-items in groups of ${one.workgroup.join(" x ")}`],
      ["Probes", `${one.kinds.join(", ")}; by ${one.made_by === "softgpu" ? "softgpu" : "the kernel's code"}`],
      ["Events", events], ["Of no place", one.events.unknown ? count(one.events.unknown) : null],
      ["Ended", one.stopped ? "no: it was stopped" : null]])
      if (text)
        list.append(make("dt", {}, title), make("dd", {className: "text"}, shown(text)));
    return list;
  }

  function fill(one) {
    return make("div", {className: "details"}, factsOf(one), ...[drawCode(one), drawLines(one), drawBanks(one),
      drawPlaces(one), drawValues(one), drawBarriers(one), drawWaves(one)].flat().filter(Boolean));
  }

  function draw(one, isOpen) {
    const details = make("details", {}, make("summary", {}, make("span", {className: "name"},
      `${one.dispatch}: ${shown(one.demangled ?? one.kernel)}`), " ",
    make("span", {className: "quiet"}, one.kinds.join(", "))));
    const open = () => {
      if (details.open && details.children.length === 1)
        details.append(fill(one));
    };
    details.addEventListener("toggle", open);
    details.open = isOpen;
    if (isOpen)
      open();
    return make("li", {}, details);
  }

  const title = `${shown(data.file)} - rawhal probe show`;
  document.title = title;
  byId("title").textContent = title;
  byId("summary").textContent = [plural(data.dispatches.length, "dispatch").replace(/dispatchs$/, "dispatches"),
    data.dispatches_left_out ? `${count(data.dispatches_left_out)} more are left out: --dispatch N shows one` : null,
    data.dispatches_incomplete ? `of ${count(data.dispatches_incomplete)} not all records are in the file` : null]
    .filter(Boolean).join("; ");
  byId("dispatches").append(...data.dispatches.map((one, index) => draw(one, index === 0)));
})();
