// Before a match: who sits where, and under which rules.

import { el, title, toast } from "../dom.js";
import { nextRung, rungs } from "./ladder.js";

const LABELS = { builds: "Build", fight_type: "Fight type", randomize_gear: "Random gear", death_match: "To the death" };
const MAIN = ["builds", "fight_type"];

export class Lobby {
  // `own(arena, ask)` is the game's own part of the dialog: {node, read()}; `ask(message)` asks the server.
  constructor(dialog, arena, start, own = null, ask = null) {
    this.own = own?.(arena, (message) => ask({ ...message, scenario: this.scenario?.value ?? "" })) ?? null;
    this.dialog = dialog;
    this.arena = arena;
    this.start = start;
    this.seats = arena.teams.flat().sort().map((seat) => this.#chooser(seat));
    this.options = new Map(arena.options.map((option) => [option.name, this.#option(option)]));
    const main = arena.options.filter((option) => MAIN.includes(option.name));
    const rest = arena.options.filter((option) => !MAIN.includes(option.name));
    this.scenario = arena.scenarios.length > 1 ? el("select", { id: "scenario" }, arena.scenarios.map((s) => el("option", { value: s.name, title: s.about, selected: s.name === arena.scenario }, title(s.name)))) : null;
    this.seed = el("input", { id: "seed", inputmode: "numeric", pattern: "[0-9]*", placeholder: "random", value: arena.seed ?? "" });
    const row = (label, input, about = "") => el("label", { class: "row", title: about }, el("span", {}, label), input);
    const quick = [["Play against a model", this.#you()], ["Model vs model", this.#agents()], ["Model vs bot", this.#againstBot()], ["Climb the ladder", this.#climb()]].filter(([, seats]) => seats);
    const form = el("form", { method: "dialog", onsubmit: (event) => this.#go(event) },
      el("h2", { id: "lobby-title" }, arena.title),
      arena.note ? el("p", { class: "note" }, arena.note) : null,
      el("div", { class: "quick", role: "group", "aria-label": "Quick setups" }, quick.map(([text, seats]) => el("button", { type: "button", onclick: () => this.#seat(seats) }, text))),
      el("fieldset", {}, el("legend", {}, "Seats"), this.seats.map((select, seat) => row(this.#place(seat), select))),
      main.length ? el("fieldset", {}, el("legend", {}, "Fight"), main.map((option) => row(LABELS[option.name] ?? title(option.name), this.options.get(option.name).input, option.about))) : null,
      this.own?.node,
      el("details", {}, el("summary", {}, "More options"),
        this.scenario ? row("Scenario", this.scenario) : null,
        rest.map((option) => row(LABELS[option.name] ?? title(option.name), this.options.get(option.name).input, option.about)),
        row("Seed", this.seed, "the same seed gives the same match")),
      el("menu", {}, el("button", { type: "button", value: "cancel", onclick: () => dialog.close() }, "Cancel"), el("button", { type: "submit", class: "primary", id: "fight", value: "start" }, "Start")));
    dialog.replaceChildren(form);
  }

  // With an id, that contestant sits opposite you.
  open(against = null) {
    if (against) this.#seat(this.arena.seats.map((id) => (id === "you" ? id : against)));
    this.#show();
  }

  #show() {
    this.dialog.showModal();
    this.dialog.querySelector("#fight").focus({ preventScroll: true }); // Enter starts the match
  }

  startWith(seats, seed) {
    this.#seat(this.seats.map((_, seat) => seats[seat] ?? seats.at(-1)));
    if (/^\d{1,15}$/.test(seed ?? "")) this.seed.value = seed;
    const message = this.read();
    if (message.seats.every((id, seat) => id === (seats[seat] ?? seats.at(-1)))) this.start(message);
    else this.#show(); // somebody who is not in the list was asked for
  }

  #place(seat) {
    if (this.arena.teams.every((team) => team.length === 1)) return `Seat ${seat + 1}`;
    const team = this.arena.teams.findIndex((seats) => seats.includes(seat));
    return `Team ${team + 1}, seat ${this.arena.teams[team].indexOf(seat) + 1}`;
  }

  #chooser(seat) {
    const groups = [["you", "People"], ["model", "Models"], ["strength", "Models, held back"], ["rung", "Ladder, weakest first"], ["bot", "Bots"], ["player", "Scripted players"]];
    return el("select", { id: `seat-${seat}` }, groups.map(([kind, label]) => {
      const own = kind === "rung" ? rungs(this.arena) : this.arena.contestants.filter((c) => c.kind === kind && !c.rung);
      return own.length ? el("optgroup", { label }, own.map((c) => el("option", { value: c.id, selected: c.id === this.arena.seats[seat] }, c.about ? `${c.name} — ${c.about}` : c.name))) : null;
    }));
  }

  #option({ name, kind, choices, default: usual }) {
    if (kind === "flag") {
      const input = el("input", { type: "checkbox", id: `option-${name}`, checked: usual });
      return { input, read: () => (input.checked === usual ? undefined : input.checked) };
    }
    const nice = (text) => (text === "drawn" ? "Random" : text === "of-build" ? "Set by the build" : title(text.toLowerCase()).replace("Lms", "LMS").replace("Pvp", "PvP"));
    const all = kind === "many" ? [el("option", { value: "" }, `Random (${usual.length})`)] : [];
    const input = el("select", { id: `option-${name}` }, all, choices.map((choice) => el("option", { value: choice, selected: kind === "one" && choice === usual }, nice(choice))));
    const read = () => (kind === "many" ? (input.value ? [input.value] : undefined) : input.value === usual ? undefined : input.value);
    return { input, read };
  }

  // The usual opponent if it is a model, else the first model.
  #model() {
    const usual = this.arena.contestants.find((c) => c.id === this.#agent());
    return usual?.kind === "model" ? usual.id : this.arena.contestants.find((c) => c.kind === "model")?.id;
  }

  #isHome(seat) {
    return this.arena.teams[0].includes(seat);
  }

  #agent() {
    return this.arena.contestants.find((c) => c.id === this.arena.seats.find((id) => id !== "you"))?.id ?? this.arena.contestants.find((c) => c.kind !== "you")?.id;
  }

  #you() {
    const agent = this.#agent();
    return agent ? this.arena.seats.map((id) => (id === "you" ? "you" : agent)) : null;
  }

  #agents() {
    const agent = this.#model();
    return agent ? this.seats.map(() => agent) : null;
  }

  #climb() {
    const rung = nextRung(this.arena);
    const you = this.arena.seats.indexOf("you");
    const mate = (seat) => this.arena.teams.some((team) => team.includes(seat) && team.includes(you));
    return rung ? this.arena.seats.map((id, seat) => (id === "you" ? "you" : mate(seat) ? this.#agent() : rung.id)) : null;
  }

  #againstBot() {
    const agent = this.#model() ?? this.arena.contestants.find((c) => c.kind === "player")?.id;
    const bot = this.arena.contestants.filter((c) => c.kind === "bot").at(-1)?.id;
    return agent && bot ? this.seats.map((_, seat) => (this.#isHome(seat) ? agent : bot)) : null;
  }

  #seat(seats) {
    this.seats.forEach((select, seat) => { select.value = seats[seat]; });
  }

  read() {
    const settings = {};
    for (const [name, option] of this.options) {
      const value = option.read();
      if (value !== undefined) settings[name] = value;
    }
    const seed = /^\d{1,15}$/.test(this.seed.value.trim()) ? Number(this.seed.value.trim()) : null;
    return { type: "start", seats: this.seats.map((select) => select.value), settings, scenario: this.scenario?.value ?? "", seed };
  }

  async #go(event) {
    event.preventDefault();
    try {
      const more = await this.own?.read();
      this.dialog.close();
      this.start({ ...this.read(), ...more });
    } catch (error) {
      toast(error.message, "error");
    }
  }
}
