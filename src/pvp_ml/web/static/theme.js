// Dark or light, chosen once for all pages; and the keys that came with the address.

const chosen = localStorage.getItem("theme") ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
document.documentElement.dataset.theme = chosen;

export function toggleTheme() {
  const theme = document.documentElement.dataset.theme === "light" ? "dark" : "light";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  dispatchEvent(new Event("theme"));
}

for (const button of document.querySelectorAll("#theme")) button.addEventListener("click", toggleTheme);
