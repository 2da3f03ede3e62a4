/** Link to the category of an event. */
import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import { categoryOptions, useCategories } from '../categories.ts';
import { fill } from '../components/fill.tsx';
import { to, useOrg } from '../paths.ts';
import { texts } from '../texts/events.ts';

export function EventCategory({ slug }: { slug: string }) {
  const org = useOrg();
  const { data } = useCategories();
  const name = categoryOptions(data ?? []).find(({ value }) => value === slug)?.label ?? slug;
  return (
    <Text component="span" size="sm" c="dimmed">
      {fill(texts.categoryIs, {
        category: (
          <Anchor component={Link} to={to.category(org, slug)} inherit underline="always">
            {name}
          </Anchor>
        ),
      })}
    </Text>
  );
}
