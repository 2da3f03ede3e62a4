import { Type } from 'typebox';
import { PreferenceChange, preferenceSources } from '../../core/decision/preferences.ts';
import { QuietHours } from '../../core/decision/quiet-hours.ts';
import { optionalString } from '../../core/optional.ts';
import * as preferences from '../../services/audience/preferences.ts';
import { type Call, endpoints } from '../server/route.ts';
import { nullable, nullableText, timestamp } from '../server/schemas.ts';

const { list, plain } = endpoints('Preferences');

const scope = {
  category: nullable(Type.String(), 'Slug. Without a category and an event, the preference applies to everything.'),
  event: nullable(Type.String(), 'project/application/event'),
  channel_type: nullable(Type.String(), 'Null: all channel types.'),
};
const source = Type.Enum([...preferenceSources], { description: 'Where the preference was set.' });

const Preference = Type.Object({ ...scope, enabled: Type.Boolean(), source, changed_at: timestamp });

const Preferences = Type.Object(
  {
    preferences: Type.Array(Preference, {
      description: 'The stored preferences; the narrowest one that applies decides.',
    }),
    timezone: nullable(Type.String(), "Null: the organization's time zone."),
    quiet_hours: nullable(QuietHours, "Null: the organization's quiet hours."),
  },
  { $id: 'Preferences' },
);

const PreferencesUpdate = Type.Object(
  {
    preferences: Type.Optional(Type.Array(PreferenceChange, { maxItems: 1_000 })),
    timezone: Type.Optional(
      Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 100, description: 'Such as Europe/Berlin.' }),
    ),
    quiet_hours: Type.Optional(
      Type.Unsafe<QuietHours | null>({
        ...QuietHours,
        type: ['object', 'null'],
        description: "Null: the organization's quiet hours. With `enabled: false`: none.",
      }),
    ),
  },
  { $id: 'PreferencesUpdate', additionalProperties: false },
);

const EffectivePreferences = Type.Object(
  {
    category: Type.Object({ slug: Type.String(), name: Type.String(), kind: Type.String() }),
    event: nullableText,
    channels: Type.Array(
      Type.Object({
        type: Type.String(),
        enabled: Type.Boolean(),
        offered: Type.Boolean({ description: 'Whether the preference page offers it.' }),
        decided_by: Type.Enum(['required', 'preference', 'category', 'default'], {
          description:
            'What decided: the category is required, a preference of the user, the default of the category, or the global default.',
        }),
        preference: nullable(Preference, 'The preference that decided, if any.'),
      }),
    ),
  },
  { $id: 'EffectivePreferences' },
);

const PreferenceHistoryEntry = Type.Object(
  {
    id: Type.Integer(),
    ...scope,
    enabled: nullable(Type.Boolean(), 'Null: the preference was removed.'),
    source,
    changed_by: Type.String(),
    changed_at: timestamp,
  },
  { $id: 'PreferenceHistoryEntry' },
);

async function show({ deps, organization, user }: Call & { organization: { id: number }; user: { id: number } }) {
  return {
    preferences: await preferences.listPreferences(deps, organization.id, user.id),
    ...(await preferences.getQuietPreference(deps, organization.id, user.id)),
  };
}

const sources = { key: 'api', account: 'console', recipient: 'inbox' } as const;

export const retrievePreferences = plain(['org', 'username'], {
  id: 'retrievePreferences',
  summary: 'Retrieve preferences',
  answer: Preferences,
  handle: show,
});

export const updatePreferences = plain(['org', 'username'], {
  id: 'updatePreferences',
  summary: 'Change preferences',
  description: 'Merges the changes: other preferences are left unchanged, and a broad one never removes a narrow one.',
  body: PreferencesUpdate,
  answer: Preferences,
  handle: async call => {
    const { deps, caller, organization, user, body } = call;
    await preferences.changePreferences(deps, organization.id, user, body, sources[caller.kind]);
    return show(call);
  },
});

export const retrieveEffectivePreferences = plain(['org', 'username'], {
  id: 'retrieveEffectivePreferences',
  summary: 'Retrieve effective preferences',
  description:
    'For an event or a category: whether each channel type is enabled, and which preference or default decided.',
  problems: [400],
  query: Type.Object({
    event: optionalString({ maxLength: 302, description: 'project/application/event' }),
    category: optionalString({ maxLength: 100, description: 'Slug, instead of an event.' }),
  }),
  answer: EffectivePreferences,
  handle: ({ deps, organization, user, query }) =>
    preferences.getEffectivePreference(deps, organization.id, user.id, query),
});

export const listEffectivePreferences = plain(['org', 'username'], {
  id: 'listEffectivePreferences',
  summary: 'List effective preferences',
  description: 'The effective preferences for every category on the preference page.',
  answer: Type.Array(EffectivePreferences),
  handle: ({ deps, organization, user }) => preferences.listEffectivePreferences(deps, organization.id, user.id),
});

export const listPreferenceHistory = list(['org', 'username'], {
  id: 'listPreferenceHistory',
  summary: 'List preference history',
  description: 'Every change of the preferences, newest first.',
  item: PreferenceHistoryEntry,
  list: async ({ deps, organization, user }, page) =>
    (await preferences.listPreferenceHistory(deps, organization.id, user.id, page)) as never,
});
