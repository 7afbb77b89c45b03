// A run: where it is, its curves, its league, and what can be done with it. Everything comes from files of the run.

import { $, el, title, toast } from "../dom.js";
import { LineChart } from "../charts.js";
import { askJson, control, order } from "../net.js";
import { count, duration, percent } from "../numbers.js";
import "../theme.js";
import { leaguePart } from "./league.js";

const EVERY_MS = 2000;
const name = decodeURIComponent(location.pathname.split("/")[2] ?? "");
const api = `/api/runs/${encodeURIComponent(name)}`;

// Chart → the metrics that it shows, as [pattern, label].
const CHARTS = [
  { title: "Win rate", isShare: true, about: "in evaluations, with 95 % intervals; ties count half", metrics: [[/^eval\/(.+)\/score$/, (m) => `against ${m[1]}`], [/^match\/win_rate$/, () => "in training"]] },
  { title: "Reward per match", metrics: [[/^match\/reward$/, () => "reward"]] },
  { title: "Entropy", unit: "nats", about: "how undecided each head is", metrics: [[/^entropy\/(.+)$/, (m) => m[1].replaceAll("_", " ")]] },
  { title: "Speed", unit: "steps/s", metrics: [[/^time\/steps_per_s$/, () => "steps per second"]] },
  { title: "Match length", unit: "steps", metrics: [[/^match\/length$/, () => "length"]] },
  { title: "Change per update", about: "KL divergence from the previous policy", metrics: [[/^ppo\/approx_kl$/, () => "KL"]] },
  { title: "Value explained", isShare: true, about: "share of the returns that the critic predicts", metrics: [[/^ppo\/explained_variance$/, () => "explained"]] },
  { title: "Chance to win", unit: "nats", about: "loss of the win head on held-out matches; a coin flip scores 0.693", metrics: [[/^win_head\/held_out_loss$/, () => "held out"], [/^win_head\/loss$/, () => "training"]] },
  { title: "Figures", about: "what players talk about", metrics: [[/^figure\/(.+)$/, (m) => m[1].replaceAll("_", " ")]], each: true },
];
const MOST = 6;

class RunPage {
  constructor() {
    this.facts = el("dl", { class: "stats big" });
    this.bar = el("progress", { max: "1", value: "0", "aria-label": "Progress" });
    this.buttons = el("menu", { class: "acts" });
    this.phases = el("ol", { class: "phases" });
    this.charts = el("div", { class: "charts" });
    this.drawn = CHARTS.filter((one) => !one.each).map((one) => ({ ...one, chart: new LineChart(one.title, one) }));
    this.each = new Map();
    this.charts.append(...this.drawn.map(({ chart }) => chart.node));
    this.league = el("div");
    this.more = el("div");
    $("main").replaceChildren(el("section", { class: "summary", "aria-label": "Summary" }, this.facts, this.bar, this.phases, this.buttons),
      el("section", { "aria-labelledby": "h-curves" }, el("h2", { id: "h-curves" }, "Curves"), this.charts), this.league, this.more);
  }

  async refresh() {
    const [run, metrics] = await Promise.all([askJson(api), askJson(`${api}/curves`)]);
    this.run = run;
    this.#summary(run);
    this.#curves(metrics, run.milestones.map((m) => ({ step: m.steps, text: `${m.label}${m.win_rate === null ? "" : `, ${percent(m.win_rate, 1)}`}` })));
    const rest = JSON.stringify([run.league, run.differs, run.milestones, run.log]);
    if (rest !== this.shown) {
      this.shown = rest;
      this.league.replaceChildren(...leaguePart(run.league));
      this.more.replaceChildren(...this.#rest(run));
    }
    $("status").textContent = "";
  }

  #summary(run) {
    document.title = `${run.name} — PvP-ML`;
    $("title").textContent = run.name;
    const facts = [
      [run.state, run.game], run.win_rate === null ? null : [percent(run.win_rate, 1), run.metric === "eval/win_rate" ? "win rate" : "win rate in training"],
      [count(run.steps), run.total_steps ? `of ${count(run.total_steps)} steps` : "steps"], [count(run.steps_per_s), "steps/s"], [duration(run.seconds), "trained"],
      run.seconds_left === null ? null : [duration(run.seconds_left), "left"],
    ].filter(Boolean);
    this.facts.replaceChildren(...facts.map(([value, label], i) => el("div", {}, el("dt", {}, label), el("dd", { class: i ? "" : `state ${run.state}` }, value))));
    this.bar.hidden = !run.total_steps;
    this.bar.value = run.total_steps ? Math.min(1, run.steps / run.total_steps) : 0;
    this.phases.hidden = run.phases.length < 2;
    this.phases.replaceChildren(...run.phases.map((phase, i) => el("li", { class: i < run.phase ? "done" : i === run.phase ? "now" : "", "aria-current": i === run.phase ? "step" : null }, phase || `Phase ${i + 1}`)));
    if (this.state === `${run.state}${run.has_model}`) return;
    this.state = `${run.state}${run.has_model}`;
    const model = encodeURIComponent(`model:${run.name}`);
    this.buttons.replaceChildren(...[
      run.has_model ? el("a", { class: "button primary", id: "watch-newest", href: `/play/${encodeURIComponent(run.game)}#start=${model},${model}` }, "Watch the newest model play now") : null,
      run.has_model ? el("a", { class: "button", href: `/play/${encodeURIComponent(run.game)}#against=${model}` }, "Play against it") : null,
      run.has_model ? el("a", { class: "button", href: `/models/${encodeURIComponent(run.name)}` }, "Model card") : null,
      run.state === "running" ? this.#act("stop", "Stop", "The run saves a checkpoint and exits. You can resume it later.") : this.#act("resume", run.state === "finished" ? "Keep training" : "Resume", `This starts pvp-ml train on the machine that serves this page, with the settings saved in the run's config.yml.`),
    ].filter(Boolean));
  }

  #act(what, label, about) {
    const why = control ? "" : "To do this, open the address that the terminal printed.";
    return el("button", { type: "button", id: what, disabled: !control, title: why || about, onclick: () => this.#confirm(what, label, about) }, label);
  }

  #confirm(what, label, about) {
    const go = async () => {
      try {
        toast((await order(`${api}/${what}`)).message);
        await this.refresh();
      } catch (error) {
        toast(error.message, "error");
      }
    };
    $("confirm").replaceChildren(el("form", { method: "dialog", onsubmit: (event) => { if (event.submitter?.value === "yes") go(); } }, el("h2", { id: "confirm-title" }, `${label} ${this.run.name}?`), el("p", {}, about),
      el("menu", {}, el("button", { type: "submit", value: "no" }, "Cancel"), el("button", { type: "submit", value: "yes", class: "primary", id: "confirm-yes" }, label))));
    $("confirm").showModal();
  }

  #curves({ curves, bands }, marks) {
    for (const { chart, metrics } of this.drawn) chart.show(pick(curves, bands, metrics).slice(0, MOST), marks);
    const each = CHARTS.filter((one) => one.each).flatMap((one) => pick(curves, bands, one.metrics)).slice(0, 8);
    for (const one of each) {
      if (!this.each.has(one.name)) {
        const isShare = Math.min(...one.values) >= 0 && Math.max(...one.values) <= 1;
        this.each.set(one.name, new LineChart(title(one.name), { isShare }));
        this.charts.append(this.each.get(one.name).node);
      }
      this.each.get(one.name).show([one], marks);
    }
    if (!Object.keys(curves).length) this.#noCurves();
  }

  #noCurves() {
    if (!this.charts.querySelector(".quiet.none")) this.charts.append(el("p", { class: "quiet none" }, "No metrics yet. The first rollout takes a moment."));
  }

  #rest(run) {
    const { preset, settings, trouble } = run.differs;
    const heading = preset ? `Settings that differ from ${preset}` : "Settings that differ from the defaults";
    const changed = settings.length ? table(["Setting", "This run", preset || "Default"], settings.map((row) => row.map((text, i) => el(i ? "td" : "th", i ? {} : { scope: "row" }, text)))) : el("p", { class: "quiet" }, trouble ?? "None.");
    const kept = run.milestones.length ? [el("section", { "aria-labelledby": "h-milestones" }, el("h2", { id: "h-milestones" }, "Milestones"),
      table(["Milestone", "Steps", "Phase", "Win rate", "Written"], run.milestones.map((m) => [el("th", { scope: "row" }, m.label), el("td", {}, count(m.steps)), el("td", {}, m.phase), el("td", {}, m.win_rate === null ? "" : percent(m.win_rate, 1)), el("td", {}, m.written.slice(0, 16).replace("T", " "))])))] : [];
    const log = run.log ? [el("section", { "aria-labelledby": "h-log" }, el("h2", { id: "h-log" }, "Latest output"), el("pre", { class: "log", tabindex: "0" }, run.log))] : [];
    return [...kept, el("section", { "aria-labelledby": "h-settings" }, el("h2", { id: "h-settings" }, heading), run.description ? el("p", {}, run.description) : null, changed), ...log];
  }
}

export function table(heads, rows) {
  return el("div", { class: "wide", tabindex: "0", role: "region", "aria-label": heads[0] }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows.map((cells) => el("tr", {}, cells)))));
}

// Series of the metrics that fit, in the order of the patterns.
function pick(curves, bands, metrics) {
  return metrics.flatMap(([pattern, label]) => Object.entries(curves).map(([metric, [steps, values]]) => {
    const found = pattern.exec(metric);
    return found && steps.length ? { name: label(found), steps, values, band: bands[metric] ?? null, dashed: metric.startsWith("match/win") } : null;
  }).filter(Boolean));
}

let shown = null;
async function follow() {
  try {
    shown ??= new RunPage();
    if (!document.hidden) await shown.refresh();
    setTimeout(follow, EVERY_MS);
  } catch (error) {
    $("status").textContent = error.message === "Failed to fetch" ? "Lost the server. Reconnecting…" : error.message;
    setTimeout(follow, 2 * EVERY_MS);
  }
}
follow();
