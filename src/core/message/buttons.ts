/**
 * Buttons of messages in chats: acknowledge, resolve and snooze for messages of steps, and the message's own actions. What a
 * service returns when one is pressed is a signed token that names the delivery and the choice. It fits into the 64 bytes
 * that Telegram allows.
 */

import { compactPattern, compactReference, readCompactReference, type TenantDelivery } from '../feedback/identify.ts';
import type { Content } from '../render/render.ts';
import { acknowledgeTextsIn } from './acknowledge-texts.ts';

/**
 * What pressing a button does: acknowledge, acknowledge all alerts of the bundle, resolve, snooze, or trigger the event of the action with
 * this index.
 */
export type ButtonChoice = 'a' | 'b' | 'r' | 's' | '0' | '1' | '2';

export interface Button {
  label: string;
  /** The page to open: of an action, or to acknowledge where a service supports links only. */
  url?: string;
  /** What the service returns when it is pressed; absent if the button only opens its page. */
  token?: string;
  choice?: ButtonChoice;
}

const purpose = 'message button';
const tokenPattern = new RegExp(`^${compactPattern}-([abrs012])\\.([0-9a-z]{16})$`);

/** How long the button snoozes. */
export const buttonSnooze = '1h';
/** More buttons than these would crowd the message, and Discord shows five in a row. */
const maxOwnWithSnooze = 1;

export function signButtonToken(
  delivery: TenantDelivery,
  choice: ButtonChoice,
  sign: (text: string, purpose: string) => string,
): string {
  const text = `${compactReference(delivery)}-${choice}`;
  return `${text}.${sign(text, purpose)}`;
}

/** Returns undefined unless this installation created the token. */
export function readButtonToken(
  token: string,
  isSigned: (signature: string, text: string, purpose: string) => boolean,
): (TenantDelivery & { choice: ButtonChoice }) | undefined {
  const [, organization, uuid, id, choice, signature] = tokenPattern.exec(token) ?? [];
  if (signature === undefined) return undefined;
  if (!isSigned(signature, token.slice(0, -signature.length - 1), purpose)) return undefined;
  return { ...readCompactReference(organization!, uuid!, id!), choice: choice as ButtonChoice };
}

interface ButtonMessage {
  actions?: Content['actions'];
  /** Above 0 for a message of a step, below for the one that reports the occurrence as resolved. */
  step: number;
  /** Empty without a public address. */
  acknowledgeUrl: string;
  locale: string | undefined;
}

/** Returns the buttons of a message. An action that acknowledges replaces the built-in button, with its own label. */
export function toButtons(
  { actions = [], step, acknowledgeUrl, locale }: ButtonMessage,
  tokenFor: (choice: ButtonChoice) => string,
): Button[] {
  const texts = acknowledgeTextsIn(locale);
  const press = (choice: ButtonChoice) => ({ token: tokenFor(choice), choice });
  const own = actions.find(({ acknowledge }) => acknowledge);
  const buttons: Button[] = [];
  if (step > 0 || (own && step === 0)) {
    buttons.push({
      label: own?.label ?? texts.button,
      ...press('a'),
      ...(acknowledgeUrl && { url: acknowledgeUrl }),
    });
  }
  if (step > 0) buttons.push({ label: texts.resolve, ...press('r') });
  for (const [i, { label, url, event }] of actions.entries()) {
    if (event !== undefined) buttons.push({ label, ...press(String(i) as ButtonChoice) });
    // A path is meant for the application's own pages.
    else if (url?.startsWith('http')) buttons.push({ label, url: new URL(url).href });
  }
  const isCrowded = buttons.length > 2 + maxOwnWithSnooze;
  if (step > 0 && !isCrowded) buttons.push({ label: texts.snooze, ...press('s') });
  return buttons;
}

/** The alerts of a bundle that have a button of their own: services show few, and some only in rows of five. */
const maxBundleButtons = 4;

/** Returns the buttons of a message about several alerts: one for all, and one for each of the first. */
export function toBundleButtons(
  { step, acknowledgeUrl, locale }: Omit<ButtonMessage, 'actions'>,
  tokenForAll: string,
  alerts: readonly { title: string; token: string }[],
): Button[] {
  if (step < 0) return [];
  const { button, acknowledgeAll } = acknowledgeTextsIn(locale);
  return [
    { label: acknowledgeAll, token: tokenForAll, choice: 'b', ...(acknowledgeUrl && { url: acknowledgeUrl }) },
    ...alerts.slice(0, maxBundleButtons).map(({ title, token }): Button => {
      return { label: `${button}: ${title}`, token, choice: 'a' };
    }),
  ];
}
