import { Type } from 'typebox';
import * as testPages from '../../../services/audience/on-call/test-pages.ts';
import { endpoints } from '../../server/route.ts';
import { nullable, nullableTimestamp } from '../../server/schemas.ts';

const { plain } = endpoints('On call');

const TestPage = Type.Object(
  {
    schedule: nullable(
      Type.String(),
      'The schedule by which the user gets test pages, as PROJECT/SCHEDULE: the first one with `test` that names the user in a layer, ' +
        'or else in an override that is not over. Null: none does.',
    ),
    occurrence: nullable(
      Type.String({ format: 'uuid' }),
      'The occurrence of the last test page. Null: there was none.',
    ),
    sent_at: nullableTimestamp,
    confirmed_at: nullableTimestamp,
  },
  { $id: 'TestPage' },
);

export const retrieveTestPage = plain(['org', 'username'], {
  id: 'retrieveTestPage',
  summary: 'Retrieve last test page of user',
  answer: TestPage,
  handle: ({ deps, organization, user }) => testPages.getTestPage(deps, { organization, user }),
});

export const sendTestPage = plain(['org', 'username'], {
  id: 'sendTestPage',
  summary: 'Send test page to user',
  description:
    'Triggers the event of the schedule for this user only, who confirms the page by an acknowledgement. 409 `test_page.off` if no ' +
    'schedule with test pages names the user, 429 `test_page.limited` within a minute of the last one.',
  status: 201,
  problems: [409, 429],
  answer: TestPage,
  handle: ({ deps, organization, user }) => testPages.sendTestPage(deps, { organization, user }),
});
