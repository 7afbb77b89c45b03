// The league of a run: who is in it, ratings as they joined, who beats whom.

import { heatMap, LineChart } from "../charts.js";
import { el } from "../dom.js";
import { count, percent } from "../numbers.js";

export function leaguePart(league) {
  if (!league.players) return [];
  const { players, rates } = league;
  const row = (p) => el("tr", { class: p.kind }, el("th", { scope: "row" }, p.name), el("td", {}, p.kind), el("td", { class: "number" }, p.steps === null ? "" : count(p.steps)),
    el("td", { class: "number" }, p.rating.toFixed(1), el("span", { class: "quiet" }, ` ± ${p.spread.toFixed(1)}`)), el("td", { class: "number" }, p.points === null ? "" : percent(p.points)), el("td", { class: "number" }, p.matches || ""));
  const table = el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "League table" }, el("table", {}, el("thead", {}, el("tr", {}, ["Player", "Kind", "Joined at", "Rating", "Trainee's score", "Matches"].map((text, i) => el("th", { scope: "col", class: i > 1 ? "number" : null }, text)))),
    el("tbody", {}, [...players].sort((a, b) => b.rating - a.rating).map(row))));
  const past = players.filter((p) => p.steps !== null).sort((a, b) => a.steps - b.steps);
  const chart = new LineChart("Rating over time", { about: "of each frozen copy, at the step when it joined" });
  if (past.length > 1) {
    const steps = past.map((p) => p.steps);
    chart.show([{ name: "rating", steps, values: past.map((p) => p.rating), band: [steps, past.map((p) => p.rating - p.spread), past.map((p) => p.rating + p.spread)] }]);
  } else chart.node.hidden = true;
  return [el("section", { "aria-labelledby": "h-league" }, el("h2", { id: "h-league" }, "League"), el("div", { class: "league" }, table, chart.node),
    el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Who beats whom" }, heatMap(players.map((p) => p.name), rates)))];
}
