// Inside the agent's head: how likely each choice was, what it expected, what it did.

import { el, title, words } from "../dom.js";

// Choices as a person would say them.
const says = (choice) => (/^(no|no_op|dont)_/.test(choice) ? "nothing" : words(choice.replace(/^(use|move|basic)_/, "").replace(/_(attack|prayer|potion)$/, "")));

const [MANY, SHOWN] = [20, 6]; // of a head with that many choices, the likeliest are enough

export class MindPanel {
  // `view.says(head, choice, step, seat)` may name a choice: '' is not worth reading, undefined is left to us.
  constructor(node, log, legality, view) {
    this.view = view;
    this.node = node;
    this.log = log;
    this.legality = legality;
    this.seat = null;
    this.rows = legality.heads.map((head) => ({
      head,
      node: el("li", {}, el("h3", {}, title(head.name)), el("div", { class: "bars" })),
    }));
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Whose head" });
    this.win = el("strong", { class: "big" });
    this.value = el("span", { class: "value" });
    this.quiet = el("p", { class: "quiet" });
    this.list = el("ul", { class: "heads" }, this.rows.map(({ node: row }) => row));
    this.fold = el("button", { type: "button", class: "fold", "aria-expanded": "true", onclick: () => this.#toggle() }, "hide");
    this.body = el("div", { class: "body" }, this.tabs, el("p", { class: "sum" }, this.win, this.value), this.quiet, this.list);
    node.replaceChildren(el("h2", {}, "Inside the agent's head", this.fold), this.body);
  }

  #toggle() {
    this.body.hidden = !this.body.hidden;
    this.fold.textContent = this.body.hidden ? "show" : "hide";
    this.fold.setAttribute("aria-expanded", String(!this.body.hidden));
  }

  get #hasModel() {
    return this.log.facts.seats?.some((id) => id.startsWith("model:")) ?? false;
  }

  // Seats that have ever shared a thought.
  seats() {
    const found = new Set();
    for (const frame of this.log.frames) for (const seat of Object.keys(frame?.thoughts ?? {})) found.add(Number(seat));
    return [...found].sort();
  }

  render() {
    const { log } = this;
    if (this.body.hidden) return;
    const seats = this.seats();
    if (!seats.includes(this.seat)) this.seat = seats.at(-1) ?? null;
    this.tabs.hidden = seats.length < 2;
    if (this.tabs.childElementCount !== seats.length || this.tabs.dataset.names !== String(log.facts.names)) {
      this.tabs.dataset.names = String(log.facts.names);
      this.tabs.replaceChildren(...seats.map((seat) => el("button", { type: "button", role: "tab", dataset: { seat: String(seat) },
        onclick: () => { this.seat = seat; this.render(); } }, log.facts.names?.[seat] ?? `Seat ${seat + 1}`)));
    }
    for (const tab of this.tabs.children) tab.setAttribute("aria-selected", String(Number(tab.dataset.seat) === this.seat));
    const thought = this.#latest();
    this.list.hidden = thought === null;
    this.win.parentElement.hidden = thought === null;
    this.quiet.textContent = thought ? "" : seats.length ? "No decision at this step yet." : this.#hasModel ? "It has not decided anything yet." : "No model is playing. Pick one as your opponent to see what it thinks.";
    if (!thought) return;
    this.win.textContent = thought.win === null ? "" : `${Math.round(thought.win * 100)} %`;
    this.win.title = "its own estimate, corrected against measured matches";
    this.value.textContent = `${thought.win === null ? "" : "to win · "}value ${thought.value.toFixed(2)}`;
    this.#bars(thought);
  }

  // The thought behind the shown frame, or the last one before it (a seat does not decide in every step).
  #latest() {
    for (let step = this.log.at; step > Math.max(0, this.log.at - 4); step--) {
      const thought = this.log.frames[step]?.thoughts?.[this.seat];
      if (thought) return { ...thought, step, action: this.log.frames[step].actions?.[this.seat] };
    }
    return null;
  }

  #bars(thought) {
    this.rows.forEach(({ head, node }, h) => {
      const from = this.legality.offset[h];
      const probs = thought.probs.slice(from, from + head.choices.length);
      const chosen = thought.action?.[h];
      const label = (c) => this.view.says?.(head.name, c, thought.step, this.seat) ?? says(head.choices[c]);
      const shown = probs.map((p, c) => [p, c]).filter(([p, c]) => (p >= 5 || c === chosen) && label(c) !== "");
      node.hidden = !shown.length;
      if (head.choices.length > MANY) shown.sort(([p, c], [q, d]) => (d === chosen) - (c === chosen) || q - p).splice(SHOWN);
      node.classList.toggle("settled", shown.length === 1 && shown[0][1] === Math.max(0, head.choices.indexOf(head.fallback ?? "")));
      const bars = node.lastChild;
      while (bars.childElementCount > shown.length) bars.lastChild.remove();
      while (bars.childElementCount < shown.length) bars.append(el("div", { class: "bar" }, el("span", { class: "fill" }), el("span", { class: "name" }), el("span", { class: "percent" })));
      shown.forEach(([p, c], i) => {
        const [fill, name, percent] = bars.children[i].children;
        fill.style.width = `${p / 10}%`;
        name.textContent = label(c);
        percent.textContent = p >= 995 ? "100" : p < 10 ? (p / 10).toFixed(1) : String(Math.round(p / 10));
        bars.children[i].classList.toggle("chosen", c === chosen);
      });
    });
  }
}
