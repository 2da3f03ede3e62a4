/** What providers share that show buttons or read replies. */

import type { Button } from '../core/message/buttons.ts';
import { optionalBoolean } from '../core/optional.ts';
import { truncate } from './chat-text.ts';
import type { InteractionResponse } from './provider.ts';

export const nothingToSay: InteractionResponse = {};

export function jsonResponse(value: object): InteractionResponse {
  return { contentType: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

/** People wait for the answer, and some services for the response: Slack gives up after 3 seconds. */
export const answerTimeoutMs = 2_000;

export const anyoneMayAct = optionalBoolean({
  description:
    'Whether everyone who sees a message may press its buttons. Default: false, only users who have an address of this channel type.',
});

/** A button as a service shows it: it either reports that it was pressed, or opens a page. */
export type ShownButton = { label: string; isMain: boolean } & (
  | { token: string; url?: undefined }
  | { url: string; token?: undefined }
);

/** Returns the buttons that can be shown: without callbacks, those that open a page. */
export function shownButtons(
  buttons: readonly Button[] | undefined,
  { callbacks, maxLabel }: { callbacks: boolean; maxLabel: number },
): ShownButton[] {
  return (buttons ?? []).flatMap(({ label, url, token, choice }): ShownButton[] => {
    const common = { label: truncate(label, maxLabel), isMain: choice === 'a' };
    if (callbacks && token !== undefined) return [{ ...common, token }];
    return url === undefined ? [] : [{ ...common, url }];
  });
}
