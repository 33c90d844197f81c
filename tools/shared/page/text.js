"use strict";
/* Text from outside as pages show it: it reaches them as text nodes only, never as markup. */
const pageText = (() => {
  /* What moves, reorders or hides text, as base/escape.c has it. */
  const hides = new RegExp("[\\\\\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f" +
    "\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f" +
    "\\u3164\\ufdd0-\\ufdef\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\u{110bd}\\u{110cd}" +
    "\\u{13430}-\\u{1343f}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{10ffff}]", "gu");
  const hex = (text) => text.codePointAt(0).toString(16);
  const shown = (text) => String(text ?? "").replace(hides, (one) => one === "\\" ? "\\\\"
    : one < "\x80" ? "\\x" + hex(one).padStart(2, "0") : "\\u{" + hex(one) + "}");
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

  /* An element: properties by name, then what is in it; strings become text. */
  function make(tag, properties, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside.filter((part) => part !== null && part !== undefined));
    return element;
  }
  const label = (text) => make("span", {className: "label"}, text);
  const code = (text) => make("span", {className: "name"}, shown(text));

  function table(caption, heads, rows) {
    const head = make("tr", {}, ...heads.map((text) => make("th", {scope: "col"}, text)));
    const body = rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td",
      {className: typeof cell === "number" ? "number" : "text"},
      typeof cell === "number" ? String(cell) : shown(cell)))));
    return make("div", {className: "scroll"}, make("table", {}, make("caption", {}, caption),
      make("thead", {}, head), make("tbody", {}, ...body)));
  }

  return {shown, plural, make, label, code, table};
})();
