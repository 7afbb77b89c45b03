// Building elements without markup strings: nothing that a server or a file says is ever read as HTML.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (value === true) node.setAttribute(name, "");
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const $ = (id) => document.getElementById(id);

export const words = (name) => name.replaceAll("_", " ");

export const title = (name) => {
  const text = words(name);
  return text.charAt(0).toUpperCase() + text.slice(1);
};

// Who played, from the name of a kept replay: GAME-DAY-TIME-FIRST-SECOND-TAG.replay.
export const sidesOf = (name) => name.replace(/\.replay$/, "").split("-").slice(3, -1).map((side) => side.replaceAll("_", " ")).join(" vs ") || name;

export function toast(message, kind = "info") {
  const note = el("p", { class: `toast ${kind}` }, message);
  const shown = $("toasts");
  while (shown.children.length > 3) shown.firstChild.remove();
  shown.append(note);
  setTimeout(() => note.remove(), kind === "error" ? 6000 : 3500);
}
