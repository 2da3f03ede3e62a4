/**
 * Returns the focus when a dialog closes. Mantine does so only for dialogs that stay mounted, and not when the element that
 * opened one is gone, such as an item of a menu.
 */

const focusable = 'a[href], button:not(:disabled), input:not(:disabled), select, textarea, [tabindex]';

/** What appears over the page and disappears with the focus in it. */
const layers = '[role="dialog"], [role="menu"]';

/** An element and its ancestors, followed by those of what opened its layer: the first one that is left gets the focus. */
type Trail = HTMLElement[];

function trailOf(element: Element): Trail {
  const trail: Trail = [];
  for (let at: Element | null = element; at; at = at.parentElement) trail.push(at as HTMLElement);
  return trail;
}

/** Focuses the first of the trail that accepts the focus, otherwise what is focusable nearest to it. */
function focusFirst(trail: Trail): void {
  for (const element of trail) {
    if (!element.isConnected || !document.body.contains(element.parentElement)) continue;
    const candidates = [element, ...element.querySelectorAll<HTMLElement>(focusable)];
    for (const candidate of candidates) {
      if (!candidate.matches(focusable) || candidate.closest('[aria-hidden="true"]')) continue;
      candidate.focus({ preventScroll: candidate !== trail[0] });
      if (document.activeElement === candidate) return;
    }
  }
}

export function returnFocus(): void {
  let last: Trail = [];
  const openers = new Map<Element, Trail>();

  const notice = (event: Event) => {
    if (!(event.target instanceof Element)) return;
    const layer = event.target.closest(layers);
    if (layer && !openers.has(layer)) openers.set(layer, last);
    const target = event.type === 'focusin' ? event.target : event.target.closest(focusable);
    if (target) last = [...trailOf(target), ...((layer && openers.get(layer)) ?? [])];
  };

  // Some browsers do not focus a button that is clicked.
  document.addEventListener('pointerdown', notice, true);
  document.addEventListener('focusin', notice, true);
  new MutationObserver(() => {
    for (const [layer, trail] of openers) {
      if (layer.isConnected) continue;
      openers.delete(layer);
      if (document.activeElement === document.body) focusFirst(trail);
    }
  }).observe(document.body, { childList: true, subtree: true });
}
