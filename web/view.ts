// SPDX-License-Identifier: Apache-2.0
// What pages of `gait view` can do beside being read: tables are sorted, filtered and
// copied, and a page follows its run while that goes on. Without it the page still says
// everything.

const REFRESH_MS = 1000;
const FILTER_FROM_ROWS = 8;

// --- tables -------------------------------------------------------------------------------

function cellOf(row: HTMLTableRowElement, column: number): HTMLElement {
  return row.cells[column] as HTMLElement;
}

// Rows that sum others up, or stand for those that are left out, stay at the end.
function isFixed(row: HTMLTableRowElement, columns: number): boolean {
  return row.classList.contains("total") || row.cells.length !== columns;
}

function compareCells(a: HTMLElement, b: HTMLElement): number {
  const [x, y] = [a.dataset.value, b.dataset.value];
  if (x !== undefined && y !== undefined) return Number(x) - Number(y);
  if (x !== undefined || y !== undefined) return x !== undefined ? 1 : -1;
  return (a.textContent ?? "").localeCompare(b.textContent ?? "", "en", { numeric: true });
}

function sortBy(table: HTMLTableElement, column: number, falling: boolean): void {
  const body = table.tBodies[0];
  const columns = table.tHead!.rows[0].cells.length;
  const rows = [...body.rows];
  const free = rows.filter((row) => !isFixed(row, columns));
  const sign = falling ? -1 : 1;
  free.sort((a, b) => sign * compareCells(cellOf(a, column), cellOf(b, column)));
  body.append(...free, ...rows.filter((row) => isFixed(row, columns)));
  [...table.tHead!.rows[0].cells].forEach((cell, at) => {
    if (at === column) cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
}

function makeSortable(table: HTMLTableElement): void {
  const head = table.tHead?.rows[0];
  if (!head || !table.tBodies[0]) return;
  [...head.cells].forEach((cell, column) => {
    if (!cell.textContent) return;
    const button = document.createElement("button");
    button.className = "sort";
    button.textContent = cell.textContent;
    button.addEventListener("click", () => {
      const isFigure = table.querySelector(`tbody tr > :nth-child(${column + 1})[data-value]`);
      const first = isFigure ? "descending" : "ascending";
      const now = cell.getAttribute("aria-sort") ?? "";
      const next = now === "" ? first : now === "ascending" ? "descending" : "ascending";
      sortBy(table, column, next === "descending");
    });
    cell.replaceChildren(button);
  });
}

function filterRows(table: HTMLTableElement, words: string): void {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of table.tBodies[0].rows) {
    const text = (row.textContent ?? "").toLowerCase();
    row.hidden = !wanted.every((word) => text.includes(word));
  }
}

function quoteCsv(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// What is seen, in its order, with figures as numbers.
function asCsv(table: HTMLTableElement): string {
  const rows = [...table.rows].filter((row) => !row.hidden);
  const line = (row: HTMLTableRowElement) =>
    [...row.cells].map((cell) => quoteCsv(cell.dataset.value ?? cell.textContent ?? "")).join(",");
  return rows.map(line).join("\r\n") + "\r\n";
}

function button(label: string, action: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.textContent = label;
  made.addEventListener("click", action);
  return made;
}

function addTools(place: HTMLElement, table: HTMLTableElement): void {
  const tools = document.createElement("div");
  const name = place.getAttribute("aria-label") ?? "table";
  tools.className = "tools";
  if (table.tBodies[0].rows.length >= FILTER_FROM_ROWS) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "Filter";
    filter.setAttribute("aria-label", `Filter ${name}`);
    filter.addEventListener("input", () => filterRows(table, filter.value));
    tools.append(filter);
  }
  const copy = button("Copy as CSV", async () => {
    try {
      await navigator.clipboard.writeText(asCsv(table));
      copy.textContent = "Copied";
    } catch {
      copy.textContent = "The browser does not allow it";
    }
    setTimeout(() => (copy.textContent = "Copy as CSV"), 2000);
  });
  tools.append(copy);
  place.before(tools);
}

function enhance(): void {
  for (const place of document.querySelectorAll<HTMLElement>("main .wide")) {
    const table = place.querySelector("table");
    if (!table?.tBodies[0]) continue;
    makeSortable(table);
    addTools(place, table);
  }
}

// --- a run that goes on ---------------------------------------------------------------------

let shown = document.querySelector<HTMLElement>("nav")?.dataset.version;

// A reader who is at work in a table keeps it: the page says that there is more.
function isInUse(): boolean {
  const active = document.activeElement;
  return (
    !!document.querySelector("main [aria-sort]") ||
    [...document.querySelectorAll<HTMLInputElement>("main input")].some((input) => input.value) ||
    (active instanceof HTMLElement && !!active.closest("main"))
  );
}

function tell(words: string, action?: () => void): void {
  let bar = document.querySelector<HTMLElement>("#news");
  bar?.remove();
  if (!words) return;
  bar = document.createElement("p");
  bar.id = "news";
  bar.setAttribute("role", "status");
  bar.append(words);
  if (action) bar.append(" ", button("Show it", action));
  document.querySelector("nav")!.after(bar);
}

async function renew(version: string): Promise<void> {
  const reply = await fetch(location.href);
  const text = await reply.text();
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  if (!fresh) return;
  document.querySelector("main")!.replaceWith(fresh);
  shown = version;
  tell("");
  enhance();
}

async function follow(): Promise<void> {
  try {
    if (!document.hidden) {
      const state = await (await fetch("state")).json();
      if (state.version === shown) tell("");
      else if (isInUse()) tell("The run has more to show.", () => renew(state.version));
      else await renew(state.version);
    }
  } catch {
    tell("gait view has ended: this page is no longer renewed.");
  }
  setTimeout(follow, REFRESH_MS);
}

// --- keys -----------------------------------------------------------------------------------

const KEYS: Record<string, [string, () => void]> = {
  "/": ["filter the first table", () => document.querySelector<HTMLInputElement>("main input")?.focus()],
  "[": ["the page before", () => turn(-1)],
  "]": ["the next page", () => turn(1)],
  "?": ["show these keys", () => showKeys()],
};

function turn(by: number): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("nav a")];
  const here = links.findIndex((link) => link.hasAttribute("aria-current"));
  links[(here + by + links.length) % links.length]?.click();
}

function showKeys(): void {
  let dialog = document.querySelector<HTMLDialogElement>("#keys");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.id = "keys";
    dialog.setAttribute("aria-label", "Keys");
    const list = document.createElement("dl");
    for (const [key, [what]] of Object.entries(KEYS)) {
      const [term, words] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = key;
      words.textContent = what;
      list.append(term, words);
    }
    dialog.append(list, button("Close", () => dialog!.close()));
    document.body.append(dialog);
  }
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, dialog")) return;
  const key = KEYS[event.key];
  if (!key) return;
  event.preventDefault();
  key[1]();
});

enhance();
setTimeout(follow, REFRESH_MS);
