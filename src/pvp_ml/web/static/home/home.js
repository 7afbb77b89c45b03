// The first page: games, runs that train now, models, recent replays.

import { sparkline } from "../charts.js";
import { $, el, sidesOf, svg, title, toast } from "../dom.js";
import { inline } from "../model/markdown.js";
import { askJson } from "../net.js";
import { ago, count, duration, percent } from "../numbers.js";
import "../theme.js";

const EVERY_MS = 3000;
const page = (...parts) => `/${parts.map(encodeURIComponent).join("/")}`;

function poster(game) {
  if (game.poster) return el("img", { class: "poster", src: game.poster, alt: "", loading: "lazy" });
  let hue = 0;
  for (const letter of game.name) hue = (hue * 31 + letter.charCodeAt(0)) % 360;
  return svg("svg", { class: "poster", viewBox: "0 0 160 90", "aria-hidden": "true" }, svg("rect", { width: 160, height: 90, fill: `hsl(${hue} 30% 24%)` }),
    [0, 1, 2, 3, 4].map((i) => svg("circle", { cx: 20 + i * 30, cy: 45 + ((hue >> i) & 1 ? 14 : -14), r: 9, fill: `hsl(${(hue + 40 * i) % 360} 55% 62%)`, opacity: 0.85 })));
}

function gameCard(game, models) {
  const own = models.filter((model) => model.game === game.name).length;
  const about = game.trouble ? game.trouble : [own === 1 ? "1 model" : own ? `${own} models` : "bots only", game.status].join(" · ");
  return el("li", { class: `game${game.trouble ? " closed" : ""}` }, game.trouble ? null : el("a", { class: "cover", href: page("play", game.name), "aria-label": `Play ${game.title}` }), poster(game),
    el("div", { class: "words" }, el("h3", {}, game.title), el("p", { class: "quiet" }, about)));
}

function smallGame(game) {
  return el("li", {}, game.trouble ? el("span", { class: "quiet", title: game.trouble }, game.title) : el("a", { href: page("play", game.name) }, game.title));
}

export function progress(run) {
  const share = run.total_steps ? Math.min(1, run.steps / run.total_steps) : null;
  return share === null ? null : el("progress", { max: "1", value: String(share), "aria-label": "Progress" });
}

function runCard(run) {
  const facts = [
    run.win_rate === null ? null : [percent(run.win_rate, 1), run.metric === "eval/win_rate" ? "win rate" : "win rate (training)"],
    [count(run.steps), run.total_steps ? `of ${count(run.total_steps)} steps` : "steps"],
    run.state === "running" ? [count(run.steps_per_s), "steps/s"] : [duration(run.seconds), "trained"],
    run.seconds_left === null ? null : [duration(run.seconds_left), "left"],
  ].filter(Boolean);
  return el("li", { class: `run ${run.state}` }, el("a", { class: "cover", href: page("runs", run.name), "aria-label": `Run ${run.name}` }),
    el("div", { class: "words" }, el("h3", {}, run.name), el("p", { class: "quiet" }, run.game, " · ", el("span", { class: `state ${run.state}` }, run.state))),
    run.line.length > 1 ? sparkline(run.line, { low: 0, high: 1, label: "Win rate so far" }) : null, progress(run),
    el("dl", { class: "stats" }, facts.map(([value, name]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)))));
}

function modelRow(model) {
  const name = el("a", { href: `/models/${model.name.split("/").map(encodeURIComponent).join("/")}` }, model.name);
  if (model.trouble) return el("tr", { class: "broken" }, el("th", { scope: "row" }, model.name), el("td", { colspan: "4", class: "quiet" }, model.trouble));
  const hardest = model.hardest ? `${percent(model.hardest.score, 1)} against ${model.hardest.opponent}` : "not measured";
  return el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, model.game), el("td", { class: "number steps" }, model.steps ? count(model.steps) : "–"), el("td", {}, hardest),
    el("td", { class: "quiet" }, model.calibrated.length ? `measured against ${model.calibrated.join(", ")}` : ""));
}

function replayRow(replay) {
  return el("li", {}, el("a", { href: `${page("play", replay.game)}#replay=${encodeURIComponent(replay.name)}`, title: replay.name }, sidesOf(replay.name)), el("span", { class: "quiet" }, `${title(replay.game)} · ${ago(replay.saved)}`));
}

const section = (heading, id, ...content) => el("section", { "aria-labelledby": id }, el("h2", { id }, heading), ...content);

class Home {
  constructor() {
    this.runs = el("ul", { class: "runs" });
    this.running = section("Training", "h-runs", this.runs);
    this.older = el("ul", { class: "runs" });
  }

  async open() {
    const home = await askJson("/api/home");
    const own = (game) => home.models.filter((model) => model.game === game.name).length;
    const main = home.games.filter((game) => game.own_view).sort((a, b) => Boolean(a.trouble) - Boolean(b.trouble) || own(b) - own(a)); // most to play against first
    const more = home.games.filter((game) => !game.own_view);
    $("main").replaceChildren(
      section("Play", "h-games", el("ul", { class: "games" }, main.map((game) => gameCard(game, home.models))),
        more.length ? el("details", {}, el("summary", {}, `${more.length} more games`), el("ul", { class: "small" }, more.map(smallGame))) : null),
      this.running,
      section("Models", "h-models", home.models.length
        ? el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table of models" }, el("table", { class: "models" }, el("thead", {}, el("tr", {}, ["Model", "Game", "Steps", "Hardest opponent", "Chance to win"].map((text) => el("th", { scope: "col", class: text === "Steps" ? "number" : null }, text)))), el("tbody", {}, home.models.map(modelRow))))
        : el("p", { class: "quiet" }, inline("None yet. `pvp-ml demo` trains one in two minutes."))),
      section("Recent replays", "h-replays", home.replays.length ? el("ul", { class: "replays" }, home.replays.map(replayRow)) : el("p", { class: "quiet" }, "None yet. Finish a match and it appears here.")));
    this.#show(home.runs);
    setInterval(() => this.#refresh(), EVERY_MS);
  }

  async #refresh() {
    if (document.hidden) return;
    try {
      this.#show(await askJson("/api/runs"));
      $("status").textContent = "";
    } catch {
      $("status").textContent = "Lost the server. Reconnecting…";
    }
  }

  #show(runs) {
    const state = JSON.stringify(runs);
    if (state === this.shown) return;
    this.shown = state;
    const focused = document.activeElement?.getAttribute?.("href");
    const now = runs.filter((run) => run.state === "running");
    const older = runs.filter((run) => run.state !== "running");
    this.running.replaceChildren(this.running.firstChild,
      now.length ? el("ul", { class: "runs" }, now.map(runCard)) : el("p", { class: "quiet" }, inline("Nothing is training. Start a run with `pvp-ml train --preset NAME --detach` and it appears here.")),
      ...(older.length ? [el("details", { open: !now.length || this.wasOpen, ontoggle: (event) => { this.wasOpen = event.target.open; } }, el("summary", {}, older.length === 1 ? "1 stopped or finished run" : `${older.length} stopped or finished runs`), el("ul", { class: "runs" }, older.slice(0, 24).map(runCard)))] : []));
    if (focused) [...document.querySelectorAll("a")].find((a) => a.getAttribute("href") === focused)?.focus();
  }
}

try {
  await new Home().open();
} catch (error) {
  toast(error.message, "error");
  $("status").textContent = error.message;
}
