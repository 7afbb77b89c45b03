// Before a fight: which account each seat has. A shipped one, or your own as the text of an account file.

import { el } from "/static/dom.js";

const MOST_LETTERS = 4000;
const OWN = "own";

// A part of the new-match dialog; a game whose fighters are always the same has none.
export function accountChooser(arena, ask) {
  if (!arena.roster) return null;
  const seats = [0, 1].map((seat) => chooser(arena.roster, seat, ask));
  return {
    node: el("fieldset", { class: "accounts" }, el("legend", {}, "Accounts"), seats.map((one) => one.node)),
    read: async () => ({ brings: [await seats[0].read(), await seats[1].read()] }),
  };
}

function chooser(roster, seat, ask) {
  const complaint = el("p", { class: "report", role: "alert" });
  const text = el("textarea", { id: `account-text-${seat}`, rows: "7", spellcheck: "false", placeholder: "Paste an account file (YAML)", "aria-label": `Account of seat ${seat + 1}`, oninput: () => complaint.replaceChildren() });
  const own = el("div", { hidden: true }, text, complaint);
  const select = el("select", { id: `account-${seat}`, onchange: () => { own.hidden = select.value !== OWN; } },
    el("option", { value: "" }, seat ? "As seat 1" : "By build"), el("option", { value: OWN }, "My own …"),
    el("optgroup", { label: "Shipped" }, roster.map((name) => el("option", { value: name }, name))));
  const refuse = (reason) => {
    complaint.replaceChildren(reason);
    throw new Error(`Seat ${seat + 1}: ${reason}`);
  };
  const read = async () => {
    if (select.value !== OWN) return select.value;
    const written = text.value.trim();
    if (!written) refuse("Paste an account, or choose a shipped one.");
    if (written.length > MOST_LETTERS) refuse(`This has ${written.length} letters, at most ${MOST_LETTERS} are taken here.`);
    const answer = await ask({ type: "bring", text: written });
    return answer.problems.length ? refuse(answer.problems[0]) : answer.ready;
  };
  return { node: el("div", {}, el("label", { class: "row" }, el("span", {}, `Seat ${seat + 1}`), select), own), read };
}
