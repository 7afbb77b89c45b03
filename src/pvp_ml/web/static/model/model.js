// A model: its card, what was measured of it, and how far its chance to win can be relied on.

import { reliability } from "../charts.js";
import { $, el } from "../dom.js";
import { askJson } from "../net.js";
import { count, duration, percent } from "../numbers.js";
import "../theme.js";
import { markdown } from "./markdown.js";

const path = location.pathname.slice("/models/".length);
const region = (label, table) => el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);
const NUMBERS = new Set(["Matches", "Won", "Tied", "Lost", "Score", "95 % interval"]);
const head = (...names) => el("thead", {}, el("tr", {}, names.map((text) => el("th", { scope: "col", class: NUMBERS.has(text) ? "number" : null }, text))));

function results(model) {
  if (!model.results.length) return el("p", { class: "quiet" }, `Not measured yet. Measure it with: pvp-ml eval --model ${model.name}`);
  return region("Results table", el("table", {}, head("Opponent", "Matches", "Won", "Tied", "Lost", "Score", "95 % interval", "Date"),
    el("tbody", {}, model.results.map((r) => el("tr", {}, el("th", { scope: "row" }, r.opponent), [r.matches, r.wins, r.ties, r.losses].map((n) => el("td", { class: "number" }, String(n))), el("td", { class: "number" }, percent(r.score, 1)),
      el("td", { class: "number" }, `${percent(r.low, 1)} – ${percent(r.high, 1)}`), el("td", {}, r.date))))));
}

function chances(model) {
  if (!model.network.win_head) return el("p", { class: "quiet" }, "This network has no win head, so it gives no chance to win.");
  if (!model.calibration.length) return el("p", { class: "quiet" }, `Not measured yet, so matches show no chance to win. Measure it with: pvp-ml model calibrate ${model.name}`);
  return el("div", { class: "chances" }, model.calibration.map((c) => el("figure", { class: "chart-card" },
    el("figcaption", {}, el("strong", {}, c.opponent === "self" ? "Against itself" : `Against ${c.opponent}`), el("span", { class: "quiet" }, `${c.matches} matches${c.date ? `, ${c.date}` : ""}`)),
    reliability(c.curve, `How often it won by the chance it stated: Brier score ${c.brier.toFixed(3)}, calibration error ${c.error.toFixed(3)}`),
    el("p", { class: "chart-legend" }, el("span", {}, "Brier score ", el("b", {}, c.brier.toFixed(3))), el("span", {}, "of a constant guess ", el("b", {}, c.constant.toFixed(3))), el("span", {}, "calibration error ", el("b", {}, c.error.toFixed(3)))))));
}

const part = (heading, id, ...content) => el("section", { "aria-labelledby": id }, el("h2", { id }, heading), ...content);

try {
  const model = await askJson(`/api/models/${path}`);
  document.title = `${model.name} — PvP-ML`;
  $("title").textContent = model.name;
  const id = encodeURIComponent(`model:${model.name}`);
  const play = `/play/${encodeURIComponent(model.game)}`;
  const { training } = model;
  const facts = [[model.game, "game"], [count(training.steps), "steps"], [duration(training.seconds), "trained"], [training.date, "date"], [training.preset || training.run, training.preset ? "preset" : "run"]].filter(([value]) => value);
  $("main").replaceChildren(
    el("section", { class: "summary", "aria-label": "Summary" }, el("dl", { class: "stats big" }, facts.map(([value, label]) => el("div", {}, el("dt", {}, label), el("dd", {}, value)))),
      el("menu", { class: "acts" }, el("a", { class: "button primary", href: `${play}#against=${id}` }, "Play against it"), el("a", { class: "button", href: `${play}#start=${id},${id}` }, "Watch it play itself"))),
    part("Results", "h-results", results(model)), part("Chance to win", "h-chance", chances(model)),
    part("Card", "h-card", el("div", { class: "card-text" }, markdown(model.card))));
} catch (error) {
  $("status").textContent = error.message;
}
