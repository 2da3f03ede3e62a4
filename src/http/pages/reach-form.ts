/** The part of the preference page with the recipient's own rules: a few rows for each set, of which empty ones are ignored. */
import { parseDuration } from '../../core/durations.ts';
import { invalid } from '../../core/errors.ts';
import { canonicalJson } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { normalizeReach, type Reach, type ReachRule, reachLimits, reachMedia } from '../../core/oncall/reach.ts';
import { type Html, html, option } from './html.ts';
import type { PageTexts } from './preference-texts.ts';

const sets = ['important', 'normal'] as const;
type Set = (typeof sets)[number];

const spareRows = 2;

export function reachSection(words: PageTexts, types: readonly string[], reach: Reach): Html {
  const own = sets.flatMap(set => (reach[set] ?? []).map(({ by }) => by));
  const offered = [...new Set([...types, ...own])];
  return html`<h2 id="reach">${words.reach}</h2>
<p id="reach-hint" class="note">${words.reachHint}</p>
<input type="hidden" name="reach_was" value="${writeReach(reach)}" />
${sets.map(
  set =>
    html`<fieldset aria-describedby="reach-hint"><legend>${words.reachSets[set]}</legend>${rowsOf(reach[set] ?? []).map(
      (rule, i) => row(words, set, i + 1, offered, rule),
    )}</fieldset>`,
)}`;
}

function rowsOf(rules: readonly ReachRule[]): Partial<ReachRule>[] {
  const rows: Partial<ReachRule>[] = [...rules];
  while (rows.length < Math.min(reachLimits.rules, rules.length + spareRows)) rows.push({});
  return rows;
}

function row(
  words: PageTexts,
  set: Set,
  nth: number,
  types: string[],
  { by, after, repeat }: Partial<ReachRule>,
): Html {
  const minutes = after === undefined ? '' : secondsOf(after) / 60;
  const label = (text: string) => `${words.reachSets[set]} ${nth}: ${text}`;
  return html`<div class="fields">
<label>${words.reachBy}<select name="${set}-by" aria-label="${label(words.reachBy)}">${option('', '–', by === undefined)}${types.map(type => option(type, lookUp(words.types, type) ?? type, type === by))}</select></label>
<label>${words.reachAfter}<input type="number" name="${set}-after" aria-label="${label(words.reachAfter)}" min="0" max="${reachLimits.hours * 60}" step="any" value="${minutes}" /></label>
<label>${words.reachTimes}<input type="number" name="${set}-times" aria-label="${label(words.reachTimes)}" min="1" max="${reachLimits.messages}" value="${repeat ?? ''}" /></label>
</div>`;
}

const secondsOf = (after: string) => (parseDuration(after) ?? 0) / 1000;

/** Encodes the rules as the form sends them, so that an untouched form changes nothing. */
function writeReach(reach: Reach): string {
  const asSent = (set: Set) =>
    reach[set]?.map(rule => toRule(rule.by, secondsOf(rule.after ?? '0s'), rule.repeat ?? 1));
  return canonicalJson(normalizeReach({ normal: asSent('normal'), important: asSent('important') }));
}

function toRule(by: ReachRule['by'], seconds: number, repeat: number): ReachRule {
  const after = seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
  return { by, ...(seconds > 0 && { after }), ...(repeat > 1 && { repeat }) };
}

/** Returns undefined if the recipient left the fields as the page showed them. */
export function readReachForm(form: URLSearchParams): Reach | undefined {
  if (!form.has('reach_was')) return undefined;
  const [important, normal] = sets.map(set => readSet(form, set));
  const reach = normalizeReach({ normal, important });
  return canonicalJson(reach) === form.get('reach_was') ? undefined : reach;
}

function readSet(form: URLSearchParams, set: Set): ReachRule[] {
  const [after, times] = [form.getAll(`${set}-after`), form.getAll(`${set}-times`)];
  const rules = form.getAll(`${set}-by`).flatMap((name, i) => {
    if (name === '') return [];
    const by = reachMedia.find(medium => medium === name);
    const seconds = Math.round(Number(after[i]) * 60);
    const repeat = Number(times[i] || 1);
    const isRead = by && seconds >= 0 && Number.isInteger(repeat) && repeat >= 1 && repeat <= reachLimits.messages;
    if (!isRead) throw invalid({ [`reach/${set}/${i}`]: ['must have a channel type, minutes and a number of times'] });
    return [toRule(by, seconds, repeat)];
  });
  if (rules.length > reachLimits.rules)
    throw invalid({ [`reach/${set}`]: [`must be at most ${reachLimits.rules} rules`] });
  return rules;
}
