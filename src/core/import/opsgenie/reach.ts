/** Notification rules of a person as `reach`. For new alerts, the first rule that applies decides. */

import { lookUp } from '../../lookup.ts';
import type { Reach } from '../../oncall/reach.ts';
import { findReachMistakes, reachLimits } from '../../oncall/reach.ts';
import type { AddNote } from '../imported.ts';
import { matchesPriority, priorities } from './conditions.ts';
import { durationOf, type OpsgenieUser, readMinutes } from './resources.ts';

type Rule = NonNullable<OpsgenieUser['notificationRules']>[number];
type Rules = NonNullable<Reach['normal']>;

const media: Record<string, Rules[number]['by']> = { email: 'email', sms: 'sms', voice: 'voice', mobile: 'push' };

export function toReach(
  { notificationRules = [] }: OpsgenieUser,
  subject: string,
  note: AddNote,
): { reach: Reach | undefined; dependsOnPriority: boolean } {
  const others = notificationRules.filter(rule => rule.enabled !== false && rule.actionType !== 'create-alert');
  const kinds = [...new Set(others.map(({ actionType }) => actionType))].sort();
  if (kinds.length > 0) note(`${subject}, notification rules`, `those for ${kinds.join(', ')} are not carried over`);
  const disabled = notificationRules.filter(rule => rule.enabled === false).map(nameOfRule);
  if (disabled.length > 0) note(`${subject}, notification rules`, `disabled ones are left out: ${disabled.join(', ')}`);
  const rules = notificationRules
    .filter(rule => rule.enabled !== false && rule.actionType === 'create-alert')
    .sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
    .filter(rule => isUsable(rule, subject, note));
  if (rules.length === 0) return { reach: undefined, dependsOnPriority: false };

  const found = priorities.map(priority => rules.find(({ criteria }) => matchesPriority(criteria, priority)));
  const [important, second, normal, ...lower] = found;
  if (second !== important || lower.some(rule => rule !== normal))
    note(
      `${subject}, notification rules`,
      'they differ by priority in more than two ways: that of P1 is `important`, that of P3 `normal`',
    );
  const rulesOf = new Map([important, normal].map(rule => [rule, rule ? readSteps(rule, subject, note) : []]));
  for (const rule of rules.filter(one => one !== important && one !== normal))
    note(`${subject}, notification rule ${nameOfRule(rule)}`, 'other rules apply before it: it is left out');
  for (const [rule, priority] of [[important, 'P1'] as const, [normal, 'P3'] as const]) {
    if (!rule)
      note(
        `${subject}, notification rules`,
        `none is for ${priority}: the person is reached by all channels at once then, instead of by none`,
      );
  }
  const reach = { important: rulesOf.get(important)!, normal: rulesOf.get(normal)! };
  return {
    reach: reach.important.length + reach.normal.length > 0 ? reach : undefined,
    dependsOnPriority: important !== normal,
  };
}

const nameOfRule = ({ name, actionType }: Rule) => name ?? actionType;

function isUsable(rule: Rule, subject: string, note: AddNote): boolean {
  const at = `${subject}, notification rule ${nameOfRule(rule)}`;
  if (rule.timeRestriction) {
    note(at, 'it is for some times only, which `reach` cannot be: it is left out');
    return false;
  }
  if (matchesPriority(rule.criteria, 'P1') === undefined) {
    note(at, 'it has conditions on other fields than the priority: it is left out');
    return false;
  }
  return true;
}

function readSteps(rule: Rule, subject: string, note: AddNote): Rules {
  const at = `${subject}, notification rule ${nameOfRule(rule)}`;
  if (rule.repeat?.enabled && rule.repeat.loopAfter)
    note(at, `it repeats after ${rule.repeat.loopAfter} minutes: use \`repeat\` of a rule of \`reach\``);
  const rules: Rules = [];
  for (const { contact, sendAfter, enabled } of rule.steps ?? []) {
    if (enabled === false) continue;
    const by = lookUp(media, contact.method);
    const minutes = readMinutes(sendAfter);
    const after = durationOf(minutes ?? 0);
    const refused = !by
      ? `messages by ${contact.method} have no counterpart`
      : minutes === undefined
        ? `its unit of time, ${sendAfter?.timeUnit}, is not known`
        : rules.length >= reachLimits.rules
          ? `${reachLimits.rules} steps are the maximum`
          : undefined;
    // Several addresses of one kind get their messages together.
    if (!refused && rules.some(one => one.by === by && one.after === after)) continue;
    const next = [...rules, { by: by!, ...(after && { after }) }];
    const mistake = refused ?? Object.values(findReachMistakes({ normal: next }))[0];
    if (mistake) note(`${at}, step to ${contact.to ?? contact.method}`, mistake);
    else rules.push(next.at(-1)!);
  }
  if (rules.length === 0) note(at, 'none of its steps can be carried over: all channels are used at once');
  return rules;
}
