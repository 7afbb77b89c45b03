// The little Markdown that cards use: headings, paragraphs, lists, tables, code. Text stays text: no HTML, no links.

import { el } from "../dom.js";

const BLOCKS = 400;

export function inline(text) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).filter(Boolean).map((part) => {
    if (part.startsWith("`") && part.endsWith("`") && part.length > 2) return el("code", {}, part.slice(1, -1));
    if (part.startsWith("**") && part.endsWith("**") && part.length > 4) return el("b", {}, part.slice(2, -2));
    return part.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1");
  });
}

const cells = (line) => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

function table(lines) {
  const [head, , ...rows] = lines;
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": cells(head)[0] || "Table" }, el("table", {}, el("thead", {}, el("tr", {}, cells(head).map((text) => el("th", { scope: "col" }, inline(text))))),
    el("tbody", {}, rows.map((row) => el("tr", {}, cells(row).map((text) => el("td", {}, inline(text))))))));
}

function block(text) {
  const lines = text.split("\n");
  const heading = /^(#{1,4})\s+(.*)/.exec(lines[0]);
  if (heading) return [el(`h${Math.min(5, heading[1].length + 2)}`, {}, inline(heading[2])), ...(lines.length > 1 ? block(lines.slice(1).join("\n")) : [])];
  if (lines.length > 1 && /^\|?\s*:?-{2,}/.test(lines[1]) && lines[0].includes("|")) return [table(lines)];
  if (/^\s*[-*]\s/.test(lines[0])) return [el("ul", {}, lines.join("\n").split(/\n(?=\s*[-*]\s)/).map((item) => el("li", {}, inline(item.replace(/^\s*[-*]\s/, "")))))];
  if (/^( {4}|```)/.test(lines[0])) return [el("pre", {}, lines.filter((line) => !line.startsWith("```")).join("\n"))];
  return [el("p", {}, inline(lines.join(" ")))];
}

export function markdown(text) {
  return text.split(/\n{2,}/).slice(0, BLOCKS).map((part) => part.replace(/^\n+|\n+$/g, "")).filter(Boolean).flatMap(block);
}
