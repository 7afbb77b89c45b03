// The two fighters' cards above the tiles: bars, timers, what is worn in the hand.

import { el, words } from "/static/dom.js";

function meter(kind, label) {
  const fill = el("span", { class: "fill" });
  const text = el("span", { class: "text" });
  const node = el("div", { class: `meter ${kind}`, role: "meter", "aria-label": label, "aria-valuemin": "0" }, fill, el("span", { class: "label" }, label), text);
  return {
    node,
    set(now, full, hidden = false) {
      node.hidden = hidden;
      fill.style.width = `${Math.max(0, Math.min(100, (now / full) * 100))}%`;
      text.textContent = kind === "energy" ? `${now} %` : `${now} / ${full}`;
      node.setAttribute("aria-valuenow", String(now));
      node.setAttribute("aria-valuemax", String(full));
      if (kind === "hp") node.classList.toggle("low", now / full < 0.3);
    },
  };
}

export class Cards {
  constructor(node, log) {
    this.log = log;
    this.cards = [0, 1].map((seat) => {
      const name = el("strong");
      const about = el("span", { class: "about" });
      const hp = meter("hp", "HP");
      const prayer = meter("prayer", "Prayer");
      const energy = meter("energy", "Special");
      const chips = el("p", { class: "chips" });
      const card = el("article", { class: `card seat${seat}` }, el("h2", {}, name, about), hp.node, el("div", { class: "pair" }, prayer.node, energy.node), chips);
      return { card, name, about, hp, prayer, energy, chips };
    });
    node.replaceChildren(...this.cards.map(({ card }) => card));
  }

  render() {
    const { log } = this;
    const scene = log.frame?.scene;
    if (scene?.kind !== "osrs") return;
    this.cards.forEach((card, seat) => {
      const fighter = scene.fighters[seat];
      const isRival = log.isPlaying && seat !== log.facts.human;
      card.name.textContent = log.facts.names?.[seat] ?? `Seat ${seat + 1}`;
      card.about.textContent = ` ${fighter.build.replaceAll("_", " ")} · ${scene.fight_type.replaceAll("_", " ")}`;
      card.hp.set(...fighter.hp);
      card.prayer.set(...fighter.prayer, isRival);
      card.energy.set(fighter.energy, 100);
      const food = Object.entries(fighter.supplies).filter(([name]) => ["shark", "anglerfish", "karambwan"].includes(name)).reduce((sum, [, n]) => sum + n, 0);
      const chips = [
        [`style ${fighter.style}`, words(fighter.worn.weapon ?? "unarmed")],
        fighter.overhead !== "none" && ["overhead", fighter.overhead],
        fighter.timers.freeze && ["frozen", `frozen ${fighter.timers.freeze}`],
        fighter.vengeance && ["veng", "vengeance"],
        !isRival && ["food", `food ${food}`],
        !isRival && ["food", `brews ${fighter.supplies.brew}`],
        fighter.timers.attack && ["cool", `attack in ${fighter.timers.attack}`],
      ].filter(Boolean);
      card.chips.replaceChildren(...chips.map(([kind, text]) => el("span", { class: `chip ${kind}` }, text)));
    });
  }
}
