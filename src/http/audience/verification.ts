import { Type } from 'typebox';
import * as verification from '../../services/audience/verification.ts';
import { withEtag } from '../server/etag.ts';
import { endpoints } from '../server/route.ts';
import { closed, nullable, timestamp, WholeAddress } from '../server/schemas.ts';
import { showAddresses } from './users.ts';

const { plain } = endpoints('Users');

export const sendVerification = plain(['org', 'username', 'address'], {
  id: 'sendVerification',
  summary: 'Send code to address',
  description:
    'Sends a code of six digits to the address, by the channel of the organization or of one of its projects that serves its type. ' +
    'It is valid for 15 minutes, and replaces the previous one.',
  problems: [409, 429],
  answer: Type.Object(
    {
      channel: Type.String({ description: 'Slug of the channel that sent it.' }),
      expires_at: timestamp,
      text: nullable(Type.String(), 'The message, if the channel is a sandbox, which sends nothing; otherwise null.'),
    },
    { $id: 'SentVerification' },
  ),
  handle: ({ deps, organization, user, address }) => verification.sendCode(deps, organization, user, address),
});

export const confirmVerification = plain(['org', 'username', 'address'], {
  id: 'confirmVerification',
  summary: 'Verify address by code',
  description: 'Verifies the address if the code is the last one that was sent to it. It can be entered five times.',
  problems: [409],
  body: Type.Object({ code: Type.String({ maxLength: 20 }) }, { $id: 'VerificationCode', ...closed }),
  answer: WholeAddress,
  handle: async call => {
    const { deps, organization, user, address, body } = call;
    const verified = await verification.confirmCode(deps, organization.id, user, address, body.code);
    const [shown] = await showAddresses(deps, organization, [verified]);
    return withEtag(call, shown!, verified);
  },
});
