/* Draws what `rawhal inspect --html` and `rawhal diff --html` put into the page as JSON. Names are whatever a file has:
   they reach the page as text nodes only, never as markup. */
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const isDiff = data.view === "diff";
  const byId = (id) => document.getElementById(id);
  const ROW = 32; /* bytes in a row of a map */
  const MOST_ROWS = 512, MOST_ARGUMENTS = 2000, CHUNK = 1000;

  const {shown, plural, make, label, code, table} = pageText;

  /* ---- Kernels ---- */

  const resources = (kernel) => kernel ? kernel.resources : null;
  const size = (kernel) => kernel ? kernel.kernarg.effective_size ?? null : null;
  const fact = (name) => (kernel) => kernel ? resources(kernel)[name] : null;
  const columns = [
    {id: "vgpr", title: "VGPRs", of: fact("vgpr_count")},
    {id: "agpr", title: "AGPRs", of: fact("agpr_count")},
    {id: "sgpr", title: "SGPRs", of: fact("sgpr_count")},
    {id: "lds", title: "LDS", of: fact("group_segment_fixed_size")},
    {id: "scratch", title: "Scratch", of: fact("private_segment_fixed_size")},
    {id: "kernarg", title: "Kernargs", of: size},
  ];

  function kernelsOfFile() {
    return data.objects.flatMap((object) => {
      const byName = new Map(object.kernels.map((kernel) => [kernel.name, []]));
      for (const one of object.diagnostics)
        byName.get(one.kernel)?.push(one);
      return object.kernels.map((kernel) => ({
        name: kernel.name, title: kernel.demangled ?? kernel.name, target: object.target, sides: [kernel],
        diagnostics: byName.get(kernel.name),
      }));
    });
  }
  function kernelsOfDiff() {
    return data.kernels.map((entry) => ({
      name: entry.name, title: (entry.kernel_a ?? entry.kernel_b).demangled ?? entry.name, entry,
      target: entry.target_a && entry.target_b && entry.target_a !== entry.target_b
        ? `${entry.target_a} to ${entry.target_b}` : entry.target_a ?? entry.target_b,
      sides: [entry.kernel_a, entry.kernel_b], diagnostics: [],
    }));
  }
  const items = (isDiff ? data.kernels ? kernelsOfDiff() : [] : kernelsOfFile());
  const most = {};
  for (const item of items) {
    const words = [item.name, item.title, item.target];
    for (const kernel of item.sides)
      if (kernel)
        words.push(kernel.symbol, ...(kernel.kernarg.arguments ?? []).slice(0, MOST_ARGUMENTS).map((one) => one.name));
    item.words = shown(words.filter(Boolean).join("\n")).toLowerCase();
    item.values = {};
    for (const column of columns) {
      const numbers = item.sides.map(column.of).filter((number) => number !== null);
      item.values[column.id] = numbers.length ? Math.max(...numbers) : -1;
      most[column.id] = Math.max(most[column.id] ?? 0, item.values[column.id]);
    }
  }

  /* ---- Maps of bytes ---- */

  const kindOf = (argument) => !argument ? "padding" : argument.hidden ? "hides"
    : /buffer|pointer|image|sampler|pipe|queue/.test(argument.value_kind) ? "pointer" : "value";

  /* Arguments and what is between them, in order; each byte is in one of them. */
  function spans(kernarg) {
    const all = [], end = kernarg.effective_size;
    let at = 0;
    const sorted = (kernarg.arguments ?? []).map((argument, index) => ({argument, index}))
      .filter((one) => one.argument.size).sort((a, b) => a.argument.offset - b.argument.offset);
    for (const {argument, index} of sorted) {
      if (argument.offset > at)
        all.push({from: at, to: argument.offset});
      at = argument.offset + argument.size;
      all.push({from: argument.offset, to: at, argument, index});
    }
    if (at < end)
      all.push({from: at, to: end});
    if (kernarg.knowledge !== "arguments" && all.length)
      all[0].unknown = true;
    return all;
  }

  function rowsOf(all) {
    const rows = [];
    let row = null;
    const put = (span, from, to) => {
      while (from < to) {
        const offset = from - from % ROW, stop = Math.min(to, offset + ROW);
        if (!row || row.offset !== offset)
          rows.push(row = {offset, pieces: []});
        row.pieces.push({span, from: from - offset, to: stop - offset});
        from = stop;
      }
    };
    for (const span of all) {
      const second = span.from - span.from % ROW + ROW, last = span.to - 1 - (span.to - 1) % ROW;
      if (last - second < 3 * ROW) {
        put(span, span.from, span.to);
        continue;
      }
      put(span, span.from, second);
      rows.push({elided: last - second});
      row = null;
      put(span, last, span.to);
    }
    return rows;
  }

  const nameOf = (span) => span.unknown ? "arguments unknown" : !span.argument ? "padding"
    : span.argument.name ? shown(span.argument.name) : span.argument.hidden
      ? shown(span.argument.value_kind.replace(/^hidden_/, "")) : `argument ${span.index}`;
  function describe(span) {
    const where = `bytes ${span.from} to ${span.to - 1}`;
    return span.argument ? `${nameOf(span)}: argument ${span.index}, ${where}, ${shown(span.argument.value_kind)}`
      : `${nameOf(span)}: ${where}`;
  }

  function drawPiece({span, from, to}, marks) {
    const mark = span.argument ? marks.get(span.index) : undefined;
    const piece = make("div", {className: `piece ${kindOf(span.argument)}`, title: describe(span)},
      span.argument || span.unknown ? nameOf(span) : "");
    piece.style.gridColumn = `${from + 2} / ${to + 2}`;
    if (mark) {
      piece.classList.add("marked", mark);
      piece.title += ` (${mark})`;
    }
    return piece;
  }

  function drawMap(kernarg, marks) {
    const all = spans(kernarg), rows = rowsOf(all);
    const bytes = (kind) => all.reduce((sum, span) => sum + (kindOf(span.argument) === kind && !span.unknown
      ? span.to - span.from : 0), 0);
    const map = make("div", {className: "map"});
    map.setAttribute("role", "img");
    map.setAttribute("aria-label", `${plural(kernarg.effective_size, "byte")}: ` +
      `${bytes("pointer") + bytes("value")} of visible arguments, ${bytes("hides")} of hidden ones, ` +
      `${bytes("padding")} of padding; the table below has each argument`);
    for (const row of rows.slice(0, MOST_ROWS)) {
      map.append(row.pieces
        ? make("div", {className: "row"}, make("span", {className: "at"}, String(row.offset)),
          ...row.pieces.map((piece) => drawPiece(piece, marks)))
        : make("div", {className: "row"}, make("span", {className: "elided"}, `${plural(row.elided, "byte")} more of it`)));
    }
    if (rows.length > MOST_ROWS)
      map.append(make("p", {className: "quiet"}, `${plural(rows.length - MOST_ROWS, "row")} more`));
    return make("div", {className: "scroll", tabIndex: 0}, map); /* so that keys can scroll it */
  }

  /* The whole segment in one line: a background, so that thousands of rows stay cheap. */
  function drawStrip(kernel) {
    const strip = make("span", {className: "strip"});
    if (!kernel || !size(kernel))
      return strip;
    const stops = [], percent = (at) => `${(100 * at / size(kernel)).toFixed(2)}%`;
    for (const span of spans(kernel.kernarg).slice(0, 64)) {
      const colour = {pointer: "pointer", value: "value", hides: "hidden", padding: "padding"}[kindOf(span.argument)];
      stops.push(`var(--${colour}) ${percent(span.from)} ${percent(span.to)}`);
    }
    strip.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    return strip;
  }

  /* ---- Tables ---- */

  function argumentTable(kernarg) {
    const all = kernarg.arguments ?? [];
    const rows = all.slice(0, MOST_ARGUMENTS).map((one, index) => [index, one.offset, one.size, one.value_kind,
      one.name ?? "", one.type_name ?? "", [one.hidden ? "hidden" : "", one.optional ? "optional" : ""].join(" ").trim()]);
    return table(all.length > MOST_ARGUMENTS ? `The first ${MOST_ARGUMENTS} of ${all.length} arguments` : "Arguments",
      ["Index", "Offset", "Size", "Kind", "Name", "Type", ""], rows);
  }

  function diagnosticList(diagnostics) {
    return make("ul", {className: "diagnostics"}, ...diagnostics.map((one) => make("li", {},
      make("span", {className: `badge ${one.severity}`}, one.severity), " ",
      one.kernel ? code(one.kernel) : null, one.kernel ? ": " : null,
      make("span", {className: "text"}, shown(one.message)),
      one.offset === null ? "" : ` (at offset ${one.offset})`)));
  }

  function factList(kernel) {
    const facts = resources(kernel), kernarg = kernel.kernarg, list = make("dl", {});
    const by = (numbers) => numbers.some(Boolean) ? numbers.join(" x ") : null;
    const rows = [
      ["Unusable", kernel.unusable_reason], ["Name", kernel.name],
      ["Symbol", kernel.symbol],
      ["Work-group", facts.max_flat_workgroup_size === null ? null
        : `up to ${facts.max_flat_workgroup_size} work-items, waves of ${facts.wavefront_size}`],
      ["Required", by(kernel.reqd_workgroup_size)],
      ["Spilled", facts.sgpr_spill_count || facts.vgpr_spill_count
        ? `${facts.sgpr_spill_count} SGPRs, ${facts.vgpr_spill_count} VGPRs` : null],
      ["Segment", kernarg.status ? `no layout: ${kernarg.message}`
        : `${plural(kernarg.effective_size, "byte")}, ${kernarg.explicit_end} of them explicit, ` +
          `aligned to ${kernarg.alignment}, signature ${kernarg.signature}`],
    ];
    for (const [title, text] of rows)
      if (text)
        list.append(make("dt", {}, title), make("dd", {className: "text"}, shown(text)));
    return list;
  }

  /* ---- What a row opens ---- */

  const map = (kernel, marks) => size(kernel) ? drawMap(kernel.kernarg, marks) : null;
  const argumentsOf = (kernel) => kernel.kernarg.arguments?.length ? argumentTable(kernel.kernarg) : null;
  const part = (heading, ...inside) => make("section", {}, make("h3", {}, heading), ...inside);

  /* Index of an argument on that side: "changed", "added" or "removed". */
  function marksOf(entry, side) {
    const marks = new Map();
    for (const change of entry.changes) {
      const place = change.argument ? change.argument[side] : null;
      if (place && change.category !== "resource")
        marks.set(place.index, !change.argument.b ? "removed" : !change.argument.a ? "added" : "changed");
    }
    return marks;
  }

  function changeTable(entry) {
    const place = (change) => !change.argument ? "" : [change.argument.a, change.argument.b].map((one) =>
      one ? one.name ?? (one.hidden ? one.value_kind : `argument ${one.index}`) : null)
      .filter((name, index, all) => name !== null && all.indexOf(name) === index).join(" to ");
    const value = (one) => one === null ? "none" : String(one);
    return table("Changes", ["Category", "Argument", "Property", "A", "B"], entry.changes.map((change) =>
      [change.category, place(change), change.property, value(change.a), value(change.b)]));
  }

  function fill(item) {
    const box = make("div", {className: "details"});
    if (item.diagnostics.length)
      box.append(diagnosticList(item.diagnostics));
    const add = (...parts) => box.append(...parts.filter(Boolean));
    if (!isDiff) {
      const [kernel] = item.sides;
      add(factList(kernel), map(kernel, new Map()), argumentsOf(kernel));
      return box;
    }
    const sides = [["A", "a"], ["B", "b"]].map(([title, side], index) => ({title, side, kernel: item.sides[index]}))
      .filter((one) => one.kernel);
    for (const {title, side, kernel} of sides)
      add(make("p", {className: "quiet"}, title), map(kernel, marksOf(item.entry, side)));
    if (item.entry.changes.length)
      add(changeTable(item.entry));
    for (const {title, kernel} of sides)
      add(part(title, factList(kernel), argumentsOf(kernel)));
    return box;
  }

  /* ---- Rows ---- */

  function drawMetric(column, item) {
    const numbers = item.sides.map((kernel) => kernel ? column.of(kernel) : undefined).filter((one) => one !== undefined);
    const text = numbers.map((one) => one === null ? "?" : one.toLocaleString("en"));
    const metric = make("span", {className: "metric"}, label(`${column.title} `),
      text.length === 2 && text[0] === text[1] ? text[0] : text.join(" \u2192 "));
    for (const number of numbers) {
      const fillPart = make("span", {});
      fillPart.style.width = `${number && most[column.id] ? 100 * number / most[column.id] : 0}%`;
      metric.append(make("span", {className: "bar"}, fillPart));
    }
    return metric;
  }

  function badges(item) {
    const all = [];
    if (isDiff) {
      const {entry} = item, differs = entry.same_abi ? "the same ABI" : "another ABI";
      const text = entry.change === "changed" ? differs : entry.change;
      all.push(make("span", {className: `badge ${entry.same_abi ? "note" : entry.change}`}, text));
      if (entry.change === "changed" && !entry.same_blobs)
        all.push(make("span", {className: "badge removed"}, "blobs of callers fit one only"));
      if (entry.change === "changed" && !entry.same_resources)
        all.push(make("span", {className: "badge note"}, "resources"));
    } else {
      if (!item.sides[0].usable)
        all.push(make("span", {className: "badge error"}, "unusable"));
      if (item.diagnostics.length)
        all.push(make("span", {className: "badge"}, plural(item.diagnostics.length, "diagnostic")));
    }
    return all.flatMap((badge) => [" ", badge]);
  }

  function draw(item) {
    if (item.node)
      return item.node;
    const summary = make("summary", {},
      make("span", {className: "name"}, shown(item.title), ...badges(item),
        ...item.sides.filter(Boolean).map(drawStrip)),
      make("span", {className: "target"}, label("Target "), shown(item.target)),
      ...columns.map((column) => drawMetric(column, item)));
    const details = make("details", {}, summary);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1)
        details.append(fill(item));
    });
    item.node = make("li", {}, details);
    return item.node;
  }

  /* ---- Searching and sorting ---- */

  const state = {sort: "name", down: false, shownRows: CHUNK};
  const list = byId("kernels"), more = byId("more"), search = byId("search"), only = byId("only");

  const filters = isDiff
    ? [["", "all changes"], ...["added", "removed", "changed"].map((change) => [change, change])]
    : [["", "all targets"], ...[...new Set(items.map((item) => item.target))].map((target) => [target, target])];
  only.append(...filters.map(([value, text]) => make("option", {value}, shown(text))));
  only.hidden = filters.length < 3 && !isDiff;
  document.querySelector("label[for=only]").hidden = only.hidden;
  const passes = (item) => !only.value || (isDiff ? item.entry.change : item.target) === only.value;

  function compare(a, b) {
    const names = a.title < b.title ? -1 : a.title > b.title ? 1 : a.target < b.target ? -1 : a.target > b.target;
    if (state.sort === "name")
      return state.down ? -names : names;
    const order = a.values[state.sort] - b.values[state.sort];
    return (state.down ? -order : order) || names;
  }

  function show() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = items.filter((item) => passes(item) && wanted.every((word) => item.words.includes(word)));
    found.sort(compare);
    list.replaceChildren(...found.slice(0, state.shownRows).map(draw));
    byId("count").textContent = found.length === items.length ? plural(items.length, "kernel")
      : `${found.length.toLocaleString("en")} of ${plural(items.length, "kernel")}`;
    more.hidden = found.length <= state.shownRows;
    more.textContent = `Show ${Math.min(CHUNK, found.length - state.shownRows)} more`;
    for (const button of document.querySelectorAll("#heads button")) {
      const mine = button.value === state.sort;
      button.setAttribute("aria-pressed", String(mine));
      button.lastChild.textContent = mine ? state.down ? " \u25be" : " \u25b4" : "";
    }
  }

  function sortBy(id) {
    state.down = state.sort === id ? !state.down : id !== "name"; /* numbers: the largest first */
    state.sort = id;
    show();
  }
  const head = (id, title) => {
    const button = make("button", {type: "button", value: id}, title, make("span", {}));
    button.addEventListener("click", () => sortBy(id));
    return button;
  };
  const blank = make("span", {className: "plain"}, "Target");
  byId("heads").append(head("name", "Kernel"), blank, ...columns.map((column) => head(column.id, column.title)));

  const restart = () => {
    state.shownRows = CHUNK;
    show();
  };
  const empty = () => {
    search.value = "";
    restart();
  };
  search.addEventListener("input", restart);
  only.addEventListener("change", restart);
  more.addEventListener("click", () => {
    const first = state.shownRows;
    state.shownRows += CHUNK;
    show();
    list.children[first]?.querySelector("summary").focus();
  });

  /* ---- Keys ---- */

  function step(by) {
    const here = document.activeElement.closest("#kernels > li");
    const next = here ? by > 0 ? here.nextElementSibling : here.previousElementSibling : list.firstElementChild;
    next?.querySelector("summary").focus();
  }
  document.addEventListener("keydown", (event) => {
    const inText = event.target === search;
    if (event.ctrlKey || event.altKey || event.metaKey || event.target === only)
      return;
    if (event.key === "/" && !inText)
      search.focus();
    else if (event.key === "Escape" && inText && search.value)
      empty();
    else if (event.key === "ArrowDown" || (event.key === "j" && !inText))
      step(1);
    else if (event.key === "ArrowUp" || (event.key === "k" && !inText))
      step(-1);
    else
      return;
    event.preventDefault();
  });

  /* ---- The rest of the page ---- */

  function notice(...inside) {
    byId("notices").hidden = false;
    byId("notices").append(...inside);
  }
  if (data.status !== "OK")
    notice(make("p", {}, make("span", {className: "badge error"}, data.status), " ",
      make("span", {className: "text"}, shown(data.message)),
      data.offset === null || data.offset === undefined ? "" : ` (at offset ${data.offset})`));
  for (const object of data.objects ?? []) {
    const names = new Set(object.kernels.map((kernel) => kernel.name));
    const own = object.diagnostics.filter((one) => !names.has(one.kernel));
    if (!object.loadable)
      notice(make("p", {}, `Object ${object.index} is not loadable: `,
        make("span", {className: "text"}, shown(object.not_loadable_reason))));
    if (own.length)
      notice(make("p", {}, `Object ${object.index}, ${shown(object.target)}:`), diagnosticList(own));
  }
  const title = isDiff ? `${shown(data.a?.file ?? data.file_a)} \u2192 ${shown(data.b?.file ?? data.file_b)}`
    : shown(data.file);
  document.title = `${title} - rawhal ${data.view}`;
  byId("title").textContent = title;
  byId("title").className = "text";
  byId("summary").textContent = !isDiff
    ? `${plural(items.length, "kernel")} in ${plural(data.objects.length, "code object")}`
    : data.status !== "OK" ? "Not compared."
      : `${data.same_abi ? "The same ABI" : "Another ABI"}: ${data.removed} removed, ${data.added} added, ` +
        `${data.changed} changed, ${data.same} the same${data.same_resources ? "" : "; resources changed"}. ` +
        "Kernels that are the same in everything are not listed." + (!data.swaps_not_seen ? "" :
          ` In ${plural(data.swaps_not_seen, "kernel")} arguments look alike and have no names: whether two were ` +
          "swapped cannot be seen.");
  const swatch = (kind, text) => [make("span", {className: `piece swatch ${kind}`}), text];
  byId("legend").append("Bytes of a segment:", ...swatch("pointer", "pointers"), ...swatch("value", "values"),
    ...swatch("hides", "hidden arguments"), ...swatch("padding", "padding"),
    ...(isDiff ? swatch("marked", "what changed") : []));
  show();
  if (items.length === 1)
    list.querySelector("details").open = true;
  document.documentElement.dataset.drawnAfterMs = String(Math.round(performance.now()));
})();
