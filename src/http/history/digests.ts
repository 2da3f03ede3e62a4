import { Type } from 'typebox';
import * as digests from '../../services/history/digests.ts';
import { history } from '../server/route.ts';

const maybeText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });
const moment = Type.String({ format: 'date-time' });

const OpenDigest = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'The same as `digest` in its deliveries.' }),
    notification: maybeText('Name; null when the notification has been deleted.'),
    channel: maybeText('Slug; null when the channel has been deleted.'),
    user: maybeText('Username; null when the user has been deleted.'),
    address: Type.String(),
    key: Type.String({ description: 'The digest key as JSON; empty when the digest collects everything.' }),
    items: Type.Integer({ description: 'Number of items collected so far.' }),
    opened_at: moment,
    closes_at: Type.Union([moment, Type.Null()], { description: 'Null while the digest is held by a pause.' }),
  },
  { $id: 'OpenDigest' },
);

export const listDigests = history(['org', 'prj', 'app', 'evt'], {
  id: 'listDigests',
  summary: 'List open digests',
  description: 'Digests that are collecting items, oldest first. A digest whose message is being sent is not included.',
  tag: 'Events',
  item: OpenDigest,
  list: async ({ deps, organization, event }, page) => {
    const rows = await digests.listDigests(deps, organization.id, event.id, page);
    return rows.map(row => ({
      ...row,
      opened_at: row.opened_at.toISOString(),
      closes_at: row.closes_at?.toISOString() ?? null,
    }));
  },
});
