import { Type } from 'typebox';
import { durationPattern, parseDuration } from '../core/durations.ts';
import { invalid } from '../core/errors.ts';
import * as links from '../services/recipient-links.ts';
import { plain } from './route.ts';
import { moment, url } from './schemas.ts';

const tag = 'Preferences';
const usualLife = '1h';
const longestMs = 30 * 86_400_000;

export const createRecipientToken = plain(['org', 'username'], {
  id: 'createRecipientToken',
  summary: 'Create token for a browser',
  description:
    'With it (`Authorization: Bearer`) the browser of that person may use their own preferences and inbox, and nothing ' +
    'else. It is signed and not kept.',
  tag,
  status: 201,
  body: Type.Object(
    {
      expires_in: Type.Optional(
        Type.String({
          pattern: durationPattern,
          patternHint: 'must be a duration such as 15m, 1h or 7d',
          description: 'At most 30d. Absent: 1h.',
        }),
      ),
    },
    { $id: 'NewRecipientToken', additionalProperties: false },
  ),
  answer: Type.Object({ token: Type.String(), expires_at: moment }, { $id: 'RecipientToken' }),
  handle: ({ deps, organization, user, body }) => {
    const lifeMs = parseDuration(body.expires_in ?? usualLife)!;
    if (lifeMs > longestMs) throw invalid({ expires_in: ['must be 30d at most'] });
    return links.createRecipientToken(deps, organization.id, user, lifeMs, Date.now());
  },
});

export const createPreferenceLink = plain(['org', 'username'], {
  id: 'createPreferenceLink',
  summary: 'Create link to the preference page',
  description:
    'The page of that person, as `{{ preferences_url }}` in messages. Whoever has the link can change what they get; it ' +
    'holds until it is revoked. It is signed and not kept.',
  tag,
  status: 201,
  answer: Type.Object({ url: url('Of the page.') }, { $id: 'PreferenceLink' }),
  handle: async ({ deps, organization, user, link }) => ({
    url: link(await links.getPreferencesPath(deps, organization.id, user.id)),
  }),
});

export const revokeRecipientTokens = plain(['org', 'username'], {
  id: 'revokeRecipientTokens',
  summary: 'Revoke tokens and links',
  description: 'Every token and every link in a message that this person was given so far ends.',
  tag,
  status: 200,
  answer: Type.Object({ revoked: Type.Boolean() }, { $id: 'RecipientTokensRevoked' }),
  handle: async ({ deps, organization, user }) => {
    await links.revokeLinks(deps, organization.id, user);
    return { revoked: true };
  },
});
