// What the figures that a reader may change are made of: elements, controls with names, numbers with words, and drawings.
"use strict";

const TileControls = (() => {
  /// An element with attributes (functions are listeners) and children.
  function element(name, attributes = {}, ...children) {
    const result = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (typeof value === "function") result.addEventListener(key, value);
      else result.setAttribute(key, value);
    }
    result.append(...children);
    return result;
  }

  const labelled = (title, control) => element("label", {}, element("span", {}, title), control);

  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;

  const number = (min, max) => element("input", { type: "number", min, max, step: 1, required: "" });

  /// A rectangle and words of a drawing.
  const rect = (x, y, width, height, fill, stroke = "none", title = "", opacity = 1) =>
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" style="fill:${fill};stroke:${stroke}" fill-opacity="${opacity}">` +
    `<title>${title}</title></rect>`;
  const text = (x, y, words, anchor, fill = "var(--ink)", kind = "") =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}" font-size="12" class="${kind}" ` +
    `style="fill:${fill};pointer-events:none">${words}</text>`;

  /// The accesses that a figure's page carries as data.
  const tracesOf = (figure) => JSON.parse(figure.querySelector("script[type='application/json']").textContent);

  /// Puts a form into a figure, and below it a drawing called `name`; gives what shows a sentence, an account and a drawing, or keeps the last one.
  function live(figure, form, name) {
    const sentence = element("strong"), account = element("span");
    const picture = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name });
    figure.querySelector(".scroll").before(
      element("div", { class: "live" }, form, element("p", { role: "status" }, sentence, " ", account), picture));
    figure.classList.add("interactive");
    return (first, rest, drawing = picture.innerHTML) => {
      sentence.textContent = first;
      account.textContent = rest;
      picture.innerHTML = drawing;
    };
  }

  return { element, labelled, plural, number, rect, text, tracesOf, live };
})();
