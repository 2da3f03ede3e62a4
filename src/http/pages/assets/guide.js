// The search of the guides: every word must be in the section, its heading or the title of its page. The index is fetched
// when the search box is first focused. Without this script the box is hidden.
const box = document.getElementById('docs-search');
const input = document.getElementById('docs-query');
const list = document.getElementById('docs-results');
const status = document.getElementById('docs-status');
const maxResults = 12;
/** Characters before a match in an excerpt. */
const contextLength = 70;

let loading;
function loadIndex() {
  loading ??= fetch('/docs/search.json')
    .then(answer => (answer.ok ? answer.json() : Promise.reject(new Error(String(answer.status)))))
    .then(entries =>
      entries.map(entry => ({
        ...entry,
        folded: {
          heading: entry.heading.toLowerCase(),
          page: entry.page.toLowerCase(),
          words: entry.words.toLowerCase(),
        },
      })),
    );
  loading.catch(() => (loading = undefined));
  return loading;
}

/** Returns the first position at which a word starts with the letters, else their first position, else -1. */
function positionOf(text, letters) {
  for (let at = text.indexOf(letters); at >= 0; at = text.indexOf(letters, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
  }
  return text.indexOf(letters);
}

/** Ranks a match in a heading or title above matches in the text. */
function scoreOf({ folded, heading }, words) {
  let score = 0;
  for (const word of words) {
    const inHeading = positionOf(folded.heading, word) >= 0;
    const inPage = positionOf(folded.page, word) >= 0;
    const times = folded.words.split(word).length - 1;
    if (!inHeading && !inPage && times === 0) return 0;
    score += (inHeading ? 20 : 0) + (inPage ? (heading ? 3 : 20) : 0) + Math.min(times, 5);
  }
  return score;
}

function find(entries, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return undefined;
  const scored = entries.map(entry => ({ entry, score: scoreOf(entry, words) })).filter(({ score }) => score > 0);
  scored.sort((a, b) => b.score - a.score);
  return { words, hits: scored.map(({ entry }) => entry) };
}

/** Returns the text around the first match. */
function excerptOf({ words: text, folded }, words) {
  const positions = words.map(word => positionOf(folded.words, word)).filter(at => at >= 0);
  const at = positions.length > 0 ? Math.min(...positions) : 0;
  const from = at <= contextLength ? 0 : text.indexOf(' ', at - contextLength) + 1;
  const cut = text.slice(from, at + contextLength * 2);
  return (from > 0 ? '… ' : '') + cut + (at + contextLength * 2 < text.length ? ' …' : '');
}

/** Highlights the search words, without interpreting the text as HTML. */
function highlight(text, words) {
  const parts = words.map(word => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).sort((a, b) => b.length - a.length);
  const pieces = text.split(new RegExp(`(${parts.join('|')})`, 'i'));
  return pieces.map((piece, i) => {
    if (i % 2 === 0) return piece;
    const mark = document.createElement('mark');
    mark.textContent = piece;
    return mark;
  });
}

function show(found) {
  list.replaceChildren();
  list.hidden = !found || found.hits.length === 0;
  if (!found) status.textContent = '';
  else if (found.hits.length === 0) status.textContent = 'No results';
  else status.textContent = found.hits.length === 1 ? '1 result' : `${found.hits.length} results`;
  for (const hit of found?.hits.slice(0, maxResults) ?? []) {
    const link = document.createElement('a');
    link.href = hit.address;
    const heading = document.createElement('strong');
    heading.append(...highlight(hit.heading ? `${hit.page} › ${hit.heading}` : hit.page, found.words));
    const excerpt = document.createElement('span');
    excerpt.append(...highlight(excerptOf(hit, found.words), found.words));
    link.append(heading, excerpt);
    const item = document.createElement('li');
    item.append(link);
    list.append(item);
  }
}

let searches = 0;
async function search() {
  const own = ++searches;
  try {
    const found = find(await loadIndex(), input.value);
    if (own === searches) show(found);
  } catch {
    show(undefined);
    status.textContent = 'The search index could not be loaded. Try again.';
  }
}

function close() {
  searches++;
  show(undefined);
}

/** Moves the focus from the box through the results and back. */
function step(by) {
  const stops = [input, ...list.querySelectorAll('a')];
  stops[Math.min(Math.max(stops.indexOf(document.activeElement) + by, 0), stops.length - 1)].focus();
}

box.hidden = false;
input.addEventListener('focus', () => void loadIndex().catch(() => {}), { once: true });
input.addEventListener('input', search);
box.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    step(event.key === 'ArrowDown' ? 1 : -1);
  } else if (event.key === 'Escape') {
    event.preventDefault();
    input.value = '';
    close();
    input.focus();
  } else if (event.key === 'Enter' && document.activeElement === input) {
    list.querySelector('a')?.click();
  }
});
// A result may be on the current page.
list.addEventListener('click', event => event.target.closest('a') && close());
box.addEventListener('focusout', event => {
  if (event.relatedTarget && !box.contains(event.relatedTarget)) close();
});
document.addEventListener('pointerdown', event => {
  if (!box.contains(event.target)) close();
});
document.addEventListener('keydown', event => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === input) return;
  event.preventDefault();
  input.focus();
});
