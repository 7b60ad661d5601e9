// Review without waiting: the next account is fetched while somebody looks at this one, and a vote swaps it in.
// Without this script the same forms lead from page to page.
import { toast } from "./desk.js";
import { dropTyped, keepTyped } from "./drafts.js";

const place = document.getElementById("review-item");
const last = document.getElementById("review-last");
const token = document.querySelector('meta[name="csrf"]')?.content ?? "";
let shown = performance.now();
let next = null;

const current = () => place?.querySelector("[data-actor]")?.dataset.actor;

async function ask(path, options = {}) {
  const answer = await fetch(path, {
    ...options,
    headers: {
      "HX-Request": "true",
      "HX-Current-URL": location.href,
      Accept: "text/html",
      "X-CSRF-Token": token,
      ...options.headers,
    },
  });
  const login = answer.headers.get("HX-Redirect");
  if (answer.status === 401 && login) {
    keepTyped();
    location.assign(login);
    return new Promise(() => {}); // the page is left
  }
  if (!answer.ok) throw new Error((await answer.text()).replace(/<[^>]*>/g, " ").trim());
  return answer.text();
}

function fetchNext() {
  const actor = current();
  next = actor === undefined ? null : ask(`/review/item?${new URLSearchParams({ but: actor })}`).catch(() => null);
}

// The list beside it: who is looked at, or was voted on, waits no longer; j goes to the first who does.
function tidy(...gone) {
  const links = [...document.querySelectorAll("[data-review-queue] a")];
  const named = (link) => new URL(link.href).searchParams.get("actor");
  for (const link of links) if (gone.includes(named(link))) link.closest("li").remove();
  const first = document.querySelector("[data-review-queue] a");
  if (first && !first.dataset.key) Object.assign(first.dataset, { key: "j", help: links[0].dataset.help ?? "" });
}

// What the server answered, as elements: nothing in it is run.
function put(where, html) {
  where.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
}

function show(html) {
  put(place, html);
  window.htmx?.process(place);
  shown = performance.now();
  place.querySelector("h2")?.scrollIntoView({ block: "nearest" });
  tidy(current());
  fetchNext();
}

// How many wait and how many were said, as they are now; the page goes on without them.
async function count() {
  const place = document.getElementById("review-count");
  const html = await ask("/review/queue").catch(() => null);
  if (place && html !== null) put(place, html);
}

async function vote(form, says) {
  const body = new FormData(form);
  body.set("says", says);
  body.set("milliseconds", String(Math.round(performance.now() - shown)));
  const voted = ask("/review/votes", { method: "POST", body });
  put(last, await voted);
  dropTyped();
  const html = await next;
  if (html === null) location.assign("/review");
  else show(html);
  count();
}

async function undo(form) {
  const html = await ask("/review/undo", { method: "POST", body: new FormData(form) });
  put(last, await ask("/review/last"));
  show(html);
  count();
}

if (place && last && window.fetch) {
  let busy = false;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const voting = form.matches("[data-review-vote]");
    if (!voting && !form.matches("[data-review-undo]")) return;
    event.preventDefault();
    if (busy) return;
    busy = true;
    const work = voting ? vote(form, event.submitter?.value ?? "skip") : undo(form);
    work.catch((error) => toast(error.message)).finally(() => { busy = false; });
  });
  fetchNext();
}
