/** Describes choices in plain text: what they apply to and what decided. */
import type { EffectivePreferences, PreferenceHistoryEntry } from '../../api-types.ts';
import { getChannelType } from '../../channel-types.ts';
import { dayOf } from '../../components/time.tsx';
import { texts } from '../../texts/preferences.ts';

export type ChannelDecision = EffectivePreferences['channels'][number];
export type Choice = NonNullable<ChannelDecision['preference']>;
/** What a choice applies to: a category, an event, or everything. */
export type Scope = Pick<PreferenceHistoryEntry, 'category' | 'event'>;

/** Category names by slug. */
export type Names = ReadonlyMap<string, string>;

export function scopeName({ category, event }: Scope, names: Names): string {
  if (event !== null) return event;
  return category === null ? texts.everything : (names.get(category) ?? category);
}

export function choiceName({ channel_type, ...scope }: Scope & Pick<Choice, 'channel_type'>, names: Names): string {
  const by = channel_type === null ? texts.everyChannel : getChannelType(channel_type).name;
  return `${scopeName(scope, names)}, ${by}`;
}

export function isAbout(choice: Choice, { category, event }: Scope, type: string): boolean {
  return choice.category === category && choice.event === event && choice.channel_type === type;
}

/** Explains a state: "Off: chosen on the preference page, Nov 3, 2026". */
export function explainDecision(decision: ChannelDecision, scope: Scope, names: Names): string {
  const { enabled, decided_by, preference, type } = decision;
  const state = enabled ? texts.on : texts.off;
  if (!preference) {
    const why = { required: texts.required, category: texts.categoryDefault }[decided_by as string];
    return texts.because(state, (why ?? texts.default).toLowerCase());
  }
  const chosen = texts.chosen(texts.sources[preference.source], dayOf(preference.changed_at));
  if (isAbout(preference, scope, type)) return texts.because(state, chosen);
  return texts.because(state, texts.chosenFor(choiceName(preference, names), chosen));
}
