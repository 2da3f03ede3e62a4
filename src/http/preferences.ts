import { Type } from 'typebox';
import { PreferenceChange, preferenceSources } from '../core/preferences.ts';
import { QuietHours } from '../core/quiet-hours.ts';
import * as preferences from '../services/preferences.ts';
import { type Call, list, plain } from './route.ts';
import { maybeText, moment } from './schemas.ts';

const tag = 'Preferences';

const scope = {
  category: Type.Union([Type.String(), Type.Null()], { description: 'Slug. Without one and an event: everything.' }),
  event: Type.Union([Type.String(), Type.Null()], { description: 'project/application/event' }),
  channel_type: Type.Union([Type.String(), Type.Null()], { description: 'Null: all of them.' }),
};
const source = Type.Enum([...preferenceSources], { description: 'How the choice was made.' });

const Preference = Type.Object({ ...scope, enabled: Type.Boolean(), source, changed_at: moment });

const Preferences = Type.Object(
  {
    preferences: Type.Array(Preference, { description: 'The choices that were made; the narrowest one decides.' }),
    timezone: Type.Union([Type.String(), Type.Null()], { description: "Null: the organization's." }),
    quiet_hours: Type.Union([QuietHours, Type.Null()], { description: "Null: the organization's." }),
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
        description: "Null: the organization's. With `enabled: false`: none.",
      }),
    ),
  },
  { $id: 'PreferencesUpdate', additionalProperties: false },
);

const EffectivePreferences = Type.Object(
  {
    category: Type.Object({ slug: Type.String(), name: Type.String(), kind: Type.String() }),
    event: maybeText,
    channels: Type.Array(
      Type.Object({
        type: Type.String(),
        enabled: Type.Boolean(),
        offered: Type.Boolean({ description: 'Whether the preference page lets the person choose it.' }),
        decided_by: Type.Enum(['required', 'preference', 'category', 'default'], {
          description:
            'The category is required, a choice of the person, the default of the category, or nothing said otherwise.',
        }),
        preference: Type.Union([Preference, Type.Null()], { description: 'The choice that decided.' }),
      }),
    ),
  },
  { $id: 'EffectivePreferences' },
);

const PreferenceHistoryEntry = Type.Object(
  {
    id: Type.Integer(),
    ...scope,
    enabled: Type.Union([Type.Boolean(), Type.Null()], { description: 'Null: the choice was withdrawn.' }),
    source,
    changed_by: Type.String(),
    changed_at: moment,
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
  tag,
  status: 200,
  answer: Preferences,
  handle: show,
});

export const patchPreferences = plain(['org', 'username'], {
  id: 'patchPreferences',
  summary: 'Change preferences',
  description: 'Merges: a choice that is not named stays as it is, and a broad one never removes a narrow one.',
  tag,
  status: 200,
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
  description: 'What holds for an event or a category, for each channel type, and which choice or default decided.',
  tag,
  status: 200,
  problems: [400],
  query: Type.Object({
    event: Type.Optional(Type.String({ maxLength: 302, description: 'project/application/event' })),
    category: Type.Optional(Type.String({ maxLength: 100, description: 'Slug, instead of an event.' })),
  }),
  answer: EffectivePreferences,
  handle: ({ deps, organization, user, query }) => preferences.getEffective(deps, organization.id, user.id, query),
});

export const listEffectivePreferences = plain(['org', 'username'], {
  id: 'listEffectivePreferences',
  summary: 'List effective preferences',
  description: 'What holds for each category that recipients choose by: everything that the preference page shows.',
  tag,
  status: 200,
  answer: Type.Array(EffectivePreferences),
  handle: ({ deps, organization, user }) => preferences.listEffective(deps, organization.id, user.id),
});

export const listPreferenceHistory = list(['org', 'username'], {
  id: 'listPreferenceHistory',
  summary: 'List preference history',
  description: 'Every choice that was made or withdrawn, when and how; the newest first.',
  tag,
  item: PreferenceHistoryEntry,
  list: async ({ deps, organization, user }, page) =>
    (await preferences.listPreferenceHistory(deps, organization.id, user.id, page)) as never,
});
