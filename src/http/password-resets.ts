/** A new password for whoever has forgotten theirs. */
import { Type } from 'typebox';
import { limits } from '../core/text.ts';
import { finishReset, readReset, requestReset } from '../services/password-resets.ts';
import { visitorOf } from './cookie.ts';
import { plain } from './route.ts';
import { closed } from './schemas.ts';
import { password } from './sessions.ts';

const tag = 'Session';
export const requestPasswordReset = plain([], {
  id: 'requestPasswordReset',
  summary: 'Ask for a password reset',
  description:
    'Sends a link that works once, for an hour. The answer is the same whether or not there is such an account. 409 ' +
    '`reset.unavailable` when no mail server is set up.',
  tag,
  status: 200,
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
  tag,
  status: 200,
  answer: Type.Object({ email: Type.String() }, { $id: 'PendingPasswordReset' }),
  handle: async ({ deps, token }) => ({ email: (await readReset(deps, token)).email }),
});

export const resetPassword = plain(['token'], {
  id: 'resetPassword',
  summary: 'Reset password',
  description: 'Ends every session of the account, and signs nobody in.',
  tag,
  status: 200,
  body: Type.Object({ password }, { $id: 'PasswordReset', ...closed }),
  answer: Type.Object({ reset: Type.Boolean() }),
  handle: async ({ deps, request, body, token }) => {
    await finishReset(deps, token, body.password, visitorOf(request));
    return { reset: true };
  },
});
