// A session may end while somebody types. What was typed stays in this tab until the same form is shown again after the
// login; it is dropped as soon as the server has taken it, and at logout.
const KEY = "desk-draft";
const LOGIN = new Set(["/login", "/password"]);
const ANSWERS = new Set(["/acts/preview"]);
const TYPED = "textarea[name], input[type=text][name], input[type=search][name], input:not([type])[name]";

// A note belongs to the account that it was written about, a reason to the accounts that are decided about.
function place(field) {
  const form = field.form && new FormData(field.form);
  const about = ["actor", "actors", "query"].flatMap((name) => form?.getAll(name) ?? []);
  return [field.form?.getAttribute("action"), ...about, field.name].join(" ");
}

const read = () => JSON.parse(sessionStorage.getItem(KEY) ?? "null");

export function keepTyped() {
  if (LOGIN.has(location.pathname)) return;
  const typed = [...document.querySelectorAll(TYPED)].filter((field) => field.value !== field.defaultValue);
  if (!typed.length) return;
  const fields = Object.fromEntries(typed.map((field) => [place(field), field.value]));
  // The answer to a form is no page to come back to; its own form says which page follows.
  const page = ANSWERS.has(location.pathname) ? typed[0].form?.elements.next?.value : "";
  const { pathname, search } = new URL(page || location.href, location.href);
  sessionStorage.setItem(KEY, JSON.stringify({ path: pathname, page: pathname + search, fields }));
}

export const dropTyped = () => sessionStorage.removeItem(KEY);

export function restoreTyped() {
  const draft = read();
  if (!draft) return;
  if (LOGIN.has(location.pathname)) {
    sessionStorage.setItem(KEY, JSON.stringify({ ...draft, login: true }));
    const next = document.querySelector("form[action='/login'] [name=next]");
    if (next && !next.value) next.value = draft.page;
    return;
  }
  dropTyped();
  if (!draft.login || draft.path !== location.pathname) return;
  for (const field of document.querySelectorAll(TYPED)) {
    const value = draft.fields[place(field)];
    if (value === undefined) continue;
    field.value = value;
    const folded = field.closest("details");
    if (folded) folded.open = true;
  }
}

document.addEventListener("submit", (event) => {
  if (event.target.getAttribute("action")?.startsWith("/logout")) dropTyped();
  else keepTyped();
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.xhr.status === 401) keepTyped();
  else if (event.detail.requestConfig.verb !== "get" && event.detail.successful) dropTyped();
});
