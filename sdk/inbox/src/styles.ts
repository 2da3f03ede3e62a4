/**
 * Styles of the component. Everything that a page may want to change is a CSS variable or a part. Colors have a contrast of at least 4.5:1
 * in both schemes; the page's `color-scheme` or the attribute `theme` selects the scheme.
 */
export const styles = `
:host {
  --_accent: var(--belfry-accent, light-dark(#1f5fbf, #8ab4f8));
  --_on-accent: var(--belfry-on-accent, light-dark(#fff, #10131a));
  --_surface: var(--belfry-surface, light-dark(#fff, #1d2027));
  --_hover: var(--belfry-hover, light-dark(#f1f3f7, #2a2e37));
  --_text: var(--belfry-text, light-dark(#1a1d23, #e8eaee));
  --_muted: var(--belfry-muted, light-dark(#5a6170, #a5acba));
  --_border: var(--belfry-border, light-dark(#dde1e8, #3a3f4b));
  --_badge: var(--belfry-badge, light-dark(#c62828, #ff8a80));
  --_on-badge: var(--belfry-on-badge, light-dark(#fff, #10131a));
  --_radius: var(--belfry-radius, 10px);
  --_width: var(--belfry-width, 24rem);
  display: inline-block;
  position: relative;
  font: var(--belfry-font, 400 0.9375rem/1.45 system-ui, sans-serif);
  color: var(--_text);
  text-align: start;
}
:host([hidden]) { display: none; }
:host([theme='light']) { color-scheme: light; }
:host([theme='dark']) { color-scheme: dark; }
:host([theme='auto']) { color-scheme: light dark; }
* { box-sizing: border-box; }
button, a { font: inherit; color: inherit; }
button { cursor: pointer; background: none; border: 0; padding: 0; border-radius: 6px; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
.bell { position: relative; display: inline-grid; place-items: center; inline-size: 2.5rem; block-size: 2.5rem; color: inherit; }
.bell:hover { background: var(--_hover); }
svg { inline-size: 1.375rem; block-size: 1.375rem; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
.badge { position: absolute; inset-block-start: 0.125rem; inset-inline-end: 0; min-inline-size: 1.125rem; padding: 0 0.3125rem; border-radius: 1rem; background: var(--_badge); color: var(--_on-badge); font-size: 0.6875rem; font-weight: 700; line-height: 1.125rem; text-align: center; }
.panel { position: absolute; z-index: var(--belfry-z-index, 1000); inset-block-start: calc(100% + 0.5rem); inset-inline-end: 0; inline-size: min(var(--_width), calc(100vw - 2rem)); max-block-size: min(36rem, calc(100vh - 6rem)); display: flex; flex-direction: column; background: var(--_surface); border: 1px solid var(--_border); border-radius: var(--_radius); box-shadow: 0 8px 30px rgb(0 0 0 / 20%); overflow: hidden; }
.panel.from-start { inset-inline: 0 auto; }
[hidden] { display: none !important; }
header { display: flex; align-items: center; gap: 0.5rem; padding: 0.75rem 1rem 0.5rem; }
h2 { flex: 1; margin: 0; font-size: 1.0625rem; font-weight: 650; }
.link { color: var(--_accent); font-size: 0.8125rem; padding: 0.25rem; }
.link:hover { text-decoration: underline; }
.icon { display: inline-grid; place-items: center; inline-size: 1.75rem; block-size: 1.75rem; color: var(--_muted); }
.icon:hover { background: var(--_hover); color: var(--_text); }
.icon svg { inline-size: 1.0625rem; block-size: 1.0625rem; }
.filters { display: flex; gap: 0.25rem; padding: 0 1rem 0.625rem; border-block-end: 1px solid var(--_border); }
.filters button { padding: 0.1875rem 0.625rem; border-radius: 1rem; color: var(--_muted); font-size: 0.8125rem; }
.filters button:hover { background: var(--_hover); }
.filters [aria-pressed='true'] { background: var(--_hover); color: var(--_text); font-weight: 600; }
.scroll { overflow-y: auto; overscroll-behavior: contain; flex: 1; }
ul { list-style: none; margin: 0; padding: 0; }
li { position: relative; display: grid; grid-template-columns: 2.25rem 1fr; gap: 0 0.75rem; padding: 0.75rem 1rem; border-block-end: 1px solid var(--_border); }
li:last-child { border-block-end: 0; }
li:hover, li:focus-within { background: var(--_hover); }
.avatar { inline-size: 2.25rem; block-size: 2.25rem; border-radius: 50%; object-fit: cover; display: grid; place-items: center; background: var(--_border); color: var(--_text); font-weight: 600; }
.open { text-align: start; display: block; inline-size: 100%; padding-inline-end: 4rem; }
.open::after { content: ''; position: absolute; inset: 0; }
.open:focus-visible { outline: none; }
.open:focus-visible::after { outline: 2px solid var(--_accent); outline-offset: -3px; border-radius: 6px; }
.name { font-weight: 400; overflow-wrap: anywhere; }
.is-unread .name { font-weight: 650; }
.is-unread .open::before { content: ''; position: absolute; inset-inline-start: 0.375rem; inset-block-start: 1.625rem; inline-size: 0.4375rem; block-size: 0.4375rem; border-radius: 50%; background: var(--_accent); }
.text { margin: 0.125rem 0 0; color: var(--_muted); font-size: 0.875rem; overflow-wrap: anywhere; white-space: pre-line; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; line-clamp: 3; overflow: hidden; }
time { color: var(--_muted); font-size: 0.75rem; }
.tools { position: absolute; z-index: 1; inset-block-start: 0.625rem; inset-inline-end: 0.75rem; display: flex; }
@media (hover: hover) { .tools { opacity: 0; } li:hover .tools, li:focus-within .tools { opacity: 1; } }
.actions { position: relative; z-index: 1; display: flex; flex-wrap: wrap; gap: 0.5rem; margin-block-start: 0.5rem; }
.actions > * { padding: 0.25rem 0.75rem; border: 1px solid var(--_border); border-radius: 6px; font-size: 0.8125rem; text-decoration: none; background: var(--_surface); }
.actions > :first-child { background: var(--_accent); border-color: var(--_accent); color: var(--_on-accent); }
.actions > :disabled { background: none; border-color: transparent; color: var(--_muted); cursor: default; padding-inline: 0; }
.note { margin: 0; padding: 2rem 1.5rem; text-align: center; color: var(--_muted); }
.notice { margin: 0; padding: 0.5rem 1rem; font-size: 0.8125rem; color: var(--_text); background: var(--_hover); }
.more { display: block; inline-size: 100%; padding: 0.75rem; color: var(--_accent); }
footer { padding: 0.625rem 1rem; border-block-start: 1px solid var(--_border); font-size: 0.8125rem; color: var(--_muted); }
.quiet { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 30rem) { .panel, .panel.from-start { position: fixed; inset: auto 0 0 0; inline-size: 100%; max-block-size: 85vh; border-radius: var(--_radius) var(--_radius) 0 0; } }
@media (forced-colors: active) { .panel, .actions > * { border: 1px solid; } .badge { border: 1px solid; } }
`;
