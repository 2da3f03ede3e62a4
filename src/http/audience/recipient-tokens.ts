import { Type } from 'typebox';
import { durationPattern, parseDuration } from '../../core/durations.ts';
import { invalid } from '../../core/errors.ts';
import { optionalString } from '../../core/optional.ts';
import { currentTime } from '../../lib/time/clock.ts';
import * as links from '../../services/audience/recipient-links.ts';
import { endpoints } from '../server/route.ts';
import { timestamp, url } from '../server/schemas.ts';

const { plain } = endpoints('Preferences');

const defaultLifetime = '1h';
const maxLifetimeMs = 30 * 86_400_000;

export const createRecipientToken = plain(['org', 'username'], {
  id: 'createRecipientToken',
  summary: 'Create recipient token',
  description:
    "Creates a token for the user's browser (`Authorization: Bearer`), which grants access only to the user's own " +
    'preferences and inbox. The token is signed, not stored. It ends with the API key or session that creates it, and has ' +
    'the allowed networks and the rate of the key. The requests of all tokens of a key are counted together.',
  status: 201,
  body: Type.Object(
    {
      expires_in: optionalString({
        pattern: durationPattern,
        patternHint: 'must be a duration such as 15m, 1h or 7d',
        description: 'At most 30d. Default: 1h.',
      }),
    },
    { $id: 'NewRecipientToken', additionalProperties: false },
  ),
  answer: Type.Object({ token: Type.String(), expires_at: timestamp }, { $id: 'RecipientToken' }),
  handle: ({ deps, organization, user, body, caller, session }) => {
    const lifetimeMs = parseDuration(body.expires_in ?? defaultLifetime)!;
    if (lifetimeMs > maxLifetimeMs) throw invalid({ expires_in: ['must be 30d at most'] });
    const now = currentTime();
    const lastsMs = Math.min(lifetimeMs, (caller.expiresAt ?? Number.POSITIVE_INFINITY) - now);
    const issuer = session ? { session: session.tokenHash } : { key: caller.id };
    return links.createRecipientToken(deps, organization.id, user, lastsMs, now, issuer);
  },
});

export const createPreferenceLink = plain(['org', 'username'], {
  id: 'createPreferenceLink',
  summary: 'Create preference link',
  description:
    "Creates a link to the user's preference page, like `{{ preferences_url }}` in messages. Anyone with the link can change " +
    "the user's preferences and absences, until the link is revoked. The link is signed, not stored.",
  status: 201,
  answer: Type.Object({ url: url('Link to the page.') }, { $id: 'PreferenceLink' }),
  handle: async ({ deps, organization, user, link }) => ({
    url: link(await links.getPreferencesPath(deps, organization.id, user.id)),
  }),
});

export const revokeRecipientTokens = plain(['org', 'username'], {
  id: 'revokeRecipientTokens',
  summary: 'Revoke tokens and links',
  description: 'Revokes all tokens and message links created for this user so far.',
  answer: Type.Object({ revoked: Type.Boolean() }, { $id: 'RecipientTokensRevoked' }),
  handle: async ({ deps, organization, user }) => {
    await links.revokeLinks(deps, organization.id, user);
    return { revoked: true };
  },
});
