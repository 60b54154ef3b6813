// How far away a time is, counted on: the same words as the server's.
const DAY = 86400;

const span = (seconds) => {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * DAY) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / DAY)} days`;
};

const countdown = (seconds) => {
  const part = (number) => String(number).padStart(2, "0");
  return `in ${Math.floor(seconds / 60)}:${part(seconds % 60)}`;
};

export function tick() {
  const now = Date.now();
  for (const item of document.querySelectorAll("[data-far]")) {
    const gap = (Date.parse(item.dataset.far) - now) / 1000;
    const seconds = Math.floor(Math.abs(gap));
    const due = item.parentElement.closest("[data-due]");
    const words = due && gap > 0 && seconds < 3600 ? countdown(seconds) : gap > 0 ? `in ${span(seconds)}` : `${span(seconds)} ago`;
    const text = seconds < 1 ? "now" : words;
    if (item.textContent !== text) item.textContent = text;
    if (due) due.classList.toggle("soon", gap < 3600);
  }
}
