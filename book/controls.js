// What the figures that a reader may change are made of: elements with attributes, controls with names, and numbers with words.
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

  return { element, labelled, plural };
})();
