// The console's light scripting: pages renew themselves, times tick, the theme switches at once.
// Every page works without it.
import { tick } from "./times.js";

const root = document.documentElement;
const year = 365 * 24 * 3600;

const remember = (name, value) => {
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/console; max-age=${year}; samesite=lax`;
};

const remembered = (name) =>
  document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);

// --- the reader's zone: told once, so that the server writes times on their clock
function tellZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone || remembered("purple_zone") === encodeURIComponent(zone)) return false;
  remember("purple_zone", zone);
  return true;
}

// --- regions that live: the page is asked for anew, and what differs is exchanged
let asking = null;
let again = false;

async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = fetch(location.href, { headers: { "x-part": "1" } });
  try {
    const reply = await asking;
    if (reply.status === 401) return location.reload();
    if (reply.ok) exchange(new DOMParser().parseFromString(await reply.text(), "text/html"));
  } catch {
    // offline for a moment: the stream's return asks again
  } finally {
    asking = null;
    if (again) {
      again = false;
      setTimeout(refresh, 250);
    }
  }
}

function exchange(page) {
  const announced = [];
  for (const fresh of page.querySelectorAll("[data-live][id]")) {
    const old = document.getElementById(fresh.id);
    if (!old || isSame(old, fresh)) continue;
    announced.push(...news(old, fresh));
    replace(old, fresh);
  }
  if (page.title) document.title = page.title;
  if (announced.length) document.getElementById("said").textContent = announced.join(" ");
  tick();
}

// A region that says what state it is in is exchanged when that changes: what is typed in it stays till then.
const isSame = (old, fresh) =>
  "state" in fresh.dataset ? old.dataset.state === fresh.dataset.state : old.isEqualNode(fresh);

function news(old, fresh) {
  const more = Number(fresh.dataset.announce) - Number(old.dataset.announce);
  if (fresh.dataset.say && fresh.dataset.say !== old.dataset.say) return [fresh.dataset.say];
  return more > 0 ? [`${more} new ${fresh.dataset.noun}${more > 1 ? "s" : ""}.`] : [];
}

// What has an id inside stays the same element where it is the same: focus and open details survive.
function replace(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id || focusedLink() : "";
  for (const details of fresh.querySelectorAll("details[id]")) {
    const was = document.getElementById(details.id);
    if (was) details.open = was.open;
  }
  const known = new Set([...old.querySelectorAll("[id]")].map((item) => item.id));
  for (const item of fresh.querySelectorAll("li[id]")) if (!known.has(item.id)) item.classList.add("fresh");
  const adopted = document.importNode(fresh, true);
  old.replaceWith(adopted);
  if (focused) (document.getElementById(focused) ?? adopted.querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus();
}

const focusedLink = () => document.activeElement.getAttribute("href") ?? "";

// --- news: one stream a page; a page that nobody looks at lets go of it, but for those that wait for approvals
let stream = null;
let over = false;

function listen() {
  const source = document.body.dataset.news;
  if (!source || stream || over) return;
  let opened = 0;
  stream = new EventSource(source);
  stream.addEventListener("open", () => {
    opened += 1;
    if (opened > 1) refresh(); // what happened while the line was cut
  });
  stream.addEventListener("changed", refresh);
  stream.addEventListener("out", () => location.reload());
  stream.addEventListener("over", () => {
    over = true;
    hush();
  });
  stream.addEventListener("error", () => {
    if (stream?.readyState !== EventSource.CLOSED) return; // it comes back by itself
    hush();
    setTimeout(resume, 3000);
  });
}

function hush() {
  stream?.close();
  stream = null;
}

function resume() {
  refresh();
  listen();
}

document.addEventListener("visibilitychange", () => {
  if (document.body.dataset.news?.startsWith("/console/live")) return;
  if (document.hidden) hush();
  else if (!over) resume();
});
addEventListener("pagehide", hush);
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("[data-once]")) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll(".busy")) button.classList.remove("busy");
  }
  resume();
});

// --- pages that tell what comes of nothing happening look again now and then
const every = Number(document.body.dataset.every);
if (every) setInterval(() => document.hidden || refresh(), every * 1000);

// --- forms
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-theme-form]")) {
    event.preventDefault();
    theme(event.submitter.value);
  } else if (form.matches("[data-once]")) {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    event.submitter?.classList.add("busy");
  }
});

function theme(name) {
  remember("purple_theme", name);
  root.dataset.theme = name;
  for (const button of document.querySelectorAll("[data-theme-form] button"))
    button.setAttribute("aria-pressed", String(button.value === name));
}

// --- what is told in steps: a link leads to each; here it is fetched, so that nothing jumps
function step(event, link) {
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  history.replaceState(null, "", link.href);
  refresh().then(showCurrent);
}
document.addEventListener("click", (event) => step(event, event.target.closest("a[data-step]")));
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select")) return;
  step(event, document.querySelector(`a[data-key="${CSS.escape(event.key)}"]`));
});

// --- menus close as people expect
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.account[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
document.addEventListener("click", (event) => {
  const menu = document.querySelector("details.account[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
});

const showCurrent = () =>
  document.querySelector(".filters [aria-current], .line [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

showCurrent();
if (tellZone() && document.querySelector("time")) refresh();
tick();
setInterval(tick, 1000);
listen();
