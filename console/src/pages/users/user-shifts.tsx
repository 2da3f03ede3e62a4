/** The calendar of a user's shifts. */
import { api, take } from '../../api.ts';
import { Section } from '../../components/page.tsx';
import { Subscribe } from '../../components/subscribe.tsx';
import { useOrg } from '../../paths.ts';
import { texts } from '../../texts/schedules.ts';

export function UserShifts({ username }: { username: string }) {
  const params = { path: { org: useOrg(), username } };
  return (
    <Section title={texts.shifts}>
      <Subscribe
        read={() => take(api.GET('/api/o/{org}/u/{username}/calendar/', { params }))}
        rotate={() => take(api.POST('/api/o/{org}/u/{username}/calendar/rotate/', { params }))}
        permission="user:write"
      />
    </Section>
  );
}
