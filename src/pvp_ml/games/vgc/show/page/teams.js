// Before a battle: which team each seat plays. A shipped one, or your own in Showdown's text form.

import { el } from "/static/dom.js";

const MOST_LETTERS = 3500;
const OWN = "own";
const tooLong = (length) => `This has ${length.toLocaleString("en")} letters; a team of six has at most ${MOST_LETTERS.toLocaleString("en")}.`;

// A part of the new-match dialog. `ask(message)` sends a question to the server and gives its answer.
export function teamChooser(arena, ask) {
  const seats = arena.teams.flat().sort();
  const choosers = seats.map((seat) => new Chooser(arena, seat, ask));
  return {
    node: el("fieldset", { class: "teams" }, el("legend", {}, "Teams"), choosers.map((one) => one.node)),
    read: async () => ({ brings: await Promise.all(choosers.map((one) => one.read())) }),
  };
}

class Chooser {
  constructor(arena, seat, ask) {
    this.ask = ask;
    this.seat = seat;
    const named = (arena.roster ?? []).map((name) => el("option", { value: name }, name));
    this.select = el("select", { id: `team-${seat}`, onchange: () => this.#show() }, el("option", { value: "" }, "Random"), el("option", { value: OWN }, "Paste your own…"), el("optgroup", { label: "Shipped" }, named));
    this.text = el("textarea", { id: `paste-${seat}`, rows: "7", spellcheck: "false", "aria-label": `Team of seat ${seat + 1} in Showdown's text form`, placeholder: "Paste a team as Showdown exports it", oninput: () => this.#say([]), onpaste: (event) => this.#paste(event) });
    this.report = el("ul", { class: "report", role: "alert" });
    this.own = el("div", { hidden: true }, this.text, this.report);
    this.node = el("div", {}, el("label", { class: "row" }, el("span", {}, `Seat ${seat + 1}`), this.select), this.own);
  }

  #show() {
    this.own.hidden = this.select.value !== OWN;
  }

  // Megabytes never reach the text field: laying them out would stop the page for seconds.
  #paste(event) {
    const { length } = event.clipboardData?.getData("text") ?? "";
    if (length <= MOST_LETTERS) return;
    event.preventDefault();
    this.#say([tooLong(length)]);
  }

  #say(lines) {
    this.report.replaceChildren(...lines.map((line) => el("li", {}, line)));
  }

  // The name or the checked team; throws when the team is refused, with the reasons shown beside it.
  async read() {
    if (this.select.value !== OWN) return this.select.value;
    const text = this.text.value.trim();
    if (!text) return this.#refuse(["Paste a team, or pick one that ships with the game."]);
    if (text.length > MOST_LETTERS) return this.#refuse([tooLong(text.length)]);
    const answer = await this.ask({ type: "bring", text });
    if (answer.problems.length) return this.#refuse(answer.problems);
    this.#say([]);
    return answer.ready;
  }

  #refuse(lines) {
    this.#say(lines);
    throw new Error(`The team for seat ${this.seat + 1} was refused: ${lines[0]}`);
  }
}
