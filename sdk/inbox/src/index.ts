export * from './client.ts';
export { BelfryInbox } from './element.ts';
export { enablePush, type PushOptions, type PushStatus, pushStatus } from './push.ts';
export type { InboxTexts } from './texts.ts';

import { BelfryInbox } from './element.ts';

if (!customElements.get('belfry-inbox')) customElements.define('belfry-inbox', BelfryInbox);

declare global {
  interface HTMLElementTagNameMap {
    'belfry-inbox': BelfryInbox;
  }
}
