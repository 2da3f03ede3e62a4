/** Password resets for users who have forgotten their password. */
import { Type } from 'typebox';
import { limits } from '../../core/text/text.ts';
import { finishReset, readReset, requestReset } from '../../services/identity/password-resets.ts';
import { visitorOf } from '../server/cookie.ts';
import { endpoints } from '../server/route.ts';
import { closed } from '../server/schemas.ts';
import { password } from './sessions.ts';

const { plain } = endpoints('Session');

export const requestPasswordReset = plain([], {
  id: 'requestPasswordReset',
  summary: 'Request password reset',
  description:
    'Sends a link that works once and expires after an hour. The response is the same whether or not the account exists. ' +
    '409 `reset.unavailable` if no mail server is configured.',
  problems: [409],
  body: Type.Object(
    { email: Type.String({ minLength: 1, maxLength: limits.email }) },
    { $id: 'PasswordResetRequest', ...closed },
  ),
  answer: Type.Object({ requested: Type.Boolean() }),
  handle: ({ deps, body, request, link }) => {
    requestReset(deps, body.email, visitorOf(request), link);
    return { requested: true };
  },
});

export const retrievePasswordReset = plain(['token'], {
  id: 'retrievePasswordReset',
  summary: 'Retrieve password reset',
  answer: Type.Object({ email: Type.String() }, { $id: 'PendingPasswordReset' }),
  handle: async ({ deps, token }) => ({ email: (await readReset(deps, token)).email }),
});

export const resetPassword = plain(['token'], {
  id: 'resetPassword',
  summary: 'Reset password',
  description: 'Ends all sessions of the account. Does not sign in.',
  body: Type.Object({ password }, { $id: 'PasswordReset', ...closed }),
  answer: Type.Object({ reset: Type.Boolean() }),
  handle: async ({ deps, request, body, token }) => {
    await finishReset(deps, token, body.password, visitorOf(request));
    return { reset: true };
  },
});
