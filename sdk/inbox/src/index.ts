export * from './client.ts';
export { BelfryInbox } from './element.ts';
export { enablePush, type PushOptions, type PushStatus, pushStatus } from './push.ts';
export type { InboxTexts } from './texts.ts';

import { BelfryInbox } from './element.ts';

// There is no registry where a server renders pages.
const registry: CustomElementRegistry | undefined = globalThis.customElements;
if (registry && !registry.get('belfry-inbox')) registry.define('belfry-inbox', BelfryInbox);

declare global {
  interface HTMLElementTagNameMap {
    'belfry-inbox': BelfryInbox;
  }
}
