import { Type } from 'typebox';
import * as digests from '../../services/history/digests.ts';
import { endpoints } from '../server/route.ts';
import { nullable, timestamp } from '../server/schemas.ts';

const { history } = endpoints('Events');

const OpenDigest = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The same as `digest` in its deliveries.' }),
    notification: nullable(Type.String(), 'Name; null when the notification has been deleted.'),
    channel: nullable(Type.String(), 'Slug; null when the channel has been deleted.'),
    user: nullable(Type.String(), 'Username; null when the user has been deleted.'),
    address: Type.String(),
    key: Type.String({ description: 'The digest key as JSON; empty when the digest collects everything.' }),
    items: Type.Integer({ description: 'Number of items collected so far.' }),
    opened_at: timestamp,
    closes_at: nullable(timestamp, 'Null while the digest is held by a pause.'),
  },
  { $id: 'OpenDigest' },
);

export const listDigests = history(['org', 'prj', 'app', 'evt'], {
  id: 'listDigests',
  summary: 'List open digests',
  description: 'Digests that are collecting items, oldest first. A digest whose message is being sent is not included.',
  item: OpenDigest,
  list: ({ deps, organization, event }, page) => digests.listDigests(deps, organization.id, event.id, page),
});
