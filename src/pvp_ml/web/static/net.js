// The server: plain requests, and a socket that comes back by itself.

const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";

export async function ask(path, options = {}) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const answer = await fetch(path, { ...options, headers });
  if (!answer.ok) {
    const text = await answer.text();
    let told = text;
    try { told = JSON.parse(text).error; } catch { /* plain words are fine too */ }
    throw new Error(told.trim() || `the server answered ${answer.status}`);
  }
  return answer;
}

export class Link extends EventTarget {
  #socket = null;
  #tries = 0;
  #waiting = [];

  open() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const query = token ? `?token=${encodeURIComponent(token)}` : "";
    const socket = new WebSocket(`${scheme}://${location.host}/ws${query}`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#tries = 0;
      this.#tell("open");
      for (const message of this.#waiting.splice(0)) socket.send(message);
    };
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      this.dispatchEvent(new CustomEvent("message", { detail: message }));
    };
    socket.onclose = (event) => {
      this.#tell("lost", event.reason);
      this.#tries += 1;
      if (this.#tries < 30) setTimeout(() => this.open(), Math.min(250 * 2 ** this.#tries, 5000));
    };
  }

  send(message) {
    const text = JSON.stringify(message);
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(text);
    else if (message.type === "start" || message.type === "watch") this.#waiting = [text];
  }

  #tell(name, detail = "") {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
