/** A new password for whoever has forgotten theirs. */
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { limits } from '../core/text.ts';
import { finishReset, readReset, requestReset } from '../services/password-resets.ts';
import { visitorOf } from './cookie.ts';
import { plain, type Route } from './route.ts';
import { closed } from './schemas.ts';
import { password } from './sessions.ts';

const tag = 'Session';
const tokenOf = (request: FastifyRequest) => (request.params as { token: string }).token;

export const passwordResetRoutes: Route[] = [
  plain({
    method: 'POST',
    path: '/api/password-reset/',
    permission: 'public',
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
  }),
  plain({
    method: 'GET',
    path: '/api/password-reset/:token/',
    permission: 'public',
    id: 'retrievePasswordReset',
    summary: 'Retrieve password reset',
    tag,
    status: 200,
    answer: Type.Object({ email: Type.String() }, { $id: 'PendingPasswordReset' }),
    handle: async ({ deps, request }) => ({ email: (await readReset(deps, tokenOf(request))).email }),
  }),
  plain({
    method: 'POST',
    path: '/api/password-reset/:token/',
    permission: 'public',
    id: 'resetPassword',
    summary: 'Reset password',
    description: 'Ends every session of the account, and signs nobody in.',
    tag,
    status: 200,
    body: Type.Object({ password }, { $id: 'PasswordReset', ...closed }),
    answer: Type.Object({ reset: Type.Boolean() }),
    handle: async ({ deps, request, body }) => {
      await finishReset(deps, tokenOf(request), body.password, visitorOf(request));
      return { reset: true };
    },
  }),
];
