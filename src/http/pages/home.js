// Fills in what only the browser knows: the address it came by, and whether the server is ready right now.
const everyMs = 10_000;

for (const place of document.querySelectorAll('.origin')) place.textContent = location.origin;

const state = document.querySelector('#state');
const checks = document.querySelector('#checks');

async function look() {
  try {
    const answer = await fetch('/readyz', { cache: 'no-store' });
    const health = await answer.json();
    show(answer.ok ? 'ready' : 'not-ready', answer.ok ? 'Ready' : 'Not ready', health.checks);
  } catch {
    show('not-ready', 'Unreachable', [{ name: 'server', ok: false, detail: 'does not answer' }]);
  }
}

function show(kind, text, results) {
  state.className = `badge ${kind}`;
  state.textContent = text;
  checks.replaceChildren(...results.map(line));
}

function line({ name, ok, detail }) {
  const item = document.createElement('li');
  item.className = ok ? 'ok' : 'bad';
  const label = document.createElement('strong');
  label.textContent = name;
  item.append(label, ` ${detail}`);
  return item;
}

// Browsers give the clipboard to secure pages only: https, or this very machine.
if (navigator.clipboard) {
  for (const block of document.querySelectorAll('pre')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(block.querySelector('code').textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 1_500);
    });
    block.append(button);
  }
}

look();
setInterval(() => {
  if (!document.hidden) look();
}, everyMs);
