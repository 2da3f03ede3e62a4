/** The part of the preference page with the recipient's addresses: each is verified by a code that is sent to it. */
import { verificationLimits } from '../../core/audience/verification.ts';
import { lookUp } from '../../core/lookup.ts';
import type { PreferencePage } from '../../services/audience/preference-page.ts';
import { type Html, html, nothing } from './html.ts';
import { fill, type PageTexts } from './preference-texts.ts';

/** What became of the code that was asked for, or entered. */
export const codeOutcomes = ['sent', 'verified', 'wrong', 'ended', 'limited', 'failed'] as const;
export type CodeOutcome = (typeof codeOutcomes)[number];

export function addressSection(
  words: PageTexts,
  name: string,
  addresses: PreferencePage['addresses'],
  outcome: CodeOutcome | undefined,
): Html {
  const isGood = outcome === 'sent' || outcome === 'verified';
  const notice = outcome && html`<p role="${isGood ? 'status' : 'alert'}" class="notice">${words.codes[outcome]}</p>`;
  if (addresses.length === 0) return html`${notice ?? nothing}<p>${words.noAddresses}</p>`;
  const isMissing = addresses.some(({ isVerified }) => !isVerified);
  return html`${notice ?? nothing}
${isMissing ? html`<p class="note">${words.verifyHint}</p>` : nothing}
<ul class="rows">${addresses.map(address => item(words, name, address))}</ul>`;
}

function item(words: PageTexts, name: string, address: PreferencePage['addresses'][number]): Html {
  const { id, type, value, isVerified, isAwaitingCode, isReachable } = address;
  const shown = `${lookUp(words.types, type) ?? type}: ${value}`;
  if (isVerified) return html`<li>${shown} <b class="verified">${words.verified}</b></li>`;
  if (!isReachable) return html`<li>${shown} <span class="note">${fill(words.unreachable, { name })}</span></li>`;
  const field = html`<form method="post" class="fields">${hidden(id)}
<label>${words.code}<input name="code" inputmode="numeric" autocomplete="one-time-code" required size="10" maxlength="20" aria-label="${words.code}: ${shown}" /></label>
<button type="submit" aria-label="${words.verify}: ${shown}">${words.verify}</button></form>`;
  const again = isAwaitingCode ? words.sendAnother : words.sendCode;
  return html`<li>${shown} <span class="note">${words.unverified}</span>
${isAwaitingCode ? html`${field}<p class="note">${fill(words.codeHint, { minutes: String(verificationLimits.minutes) })}</p>` : nothing}
<form method="post">${hidden(id)}<button type="submit" class="quiet" aria-label="${again}: ${shown}">${again}</button></form></li>`;
}

function hidden(id: number): Html {
  return html`<input type="hidden" name="action" value="verify" /><input type="hidden" name="address" value="${id}" />`;
}
