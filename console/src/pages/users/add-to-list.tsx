/** Adds users to an existing list. */
import { Select, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api.ts';
import { FormModal, useApiForm } from '../../components/api-form.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { useOrg } from '../../paths.ts';
import { combine } from '../../queries.ts';
import { texts } from '../../texts/users.ts';

export function AddToList({ usernames, close }: { usernames: string[]; close: () => void }) {
  const org = useOrg();
  const who = usernames.length === 1 ? usernames[0]! : texts.usersCount(usernames.length);
  const { data: projects = [] } = useProjects();
  const lists = useQuery({
    ...combine('options of lists', '/api/o/{org}/p/{prj}/d/', { org, projects }, signal =>
      Promise.all(
        projects.map(async ({ slug: prj, name }) => {
          const rows = await take(api.GET('/api/o/{org}/p/{prj}/d/', { params: { path: { org, prj } }, signal }));
          return { group: name, items: rows.map(list => ({ value: `${prj}/${list.id}`, label: list.name })) };
        }),
      ),
    ),
  });
  const adding = useApiForm({
    initialValues: { list: '' },
    validate: ({ list }): Record<string, string> => (list ? {} : { list: texts.chooseAList }),
    run: ({ list }) => {
      const [prj = '', pk] = list.split('/');
      const path = { org, prj, pk: Number(pk) };
      return take(api.POST('/api/o/{org}/p/{prj}/d/{pk}/add/', { params: { path }, body: usernames }));
    },
    done: ({ added, existing }) => {
      if (usernames.length > 1) return texts.addedUsers(added, existing);
      return added > 0 ? texts.addedToTheList(who) : texts.wasAlreadyOnTheList(who);
    },
    refresh: ['/api/o/{org}/u/{username}/', '/api/o/{org}/p/{prj}/d/'],
    onDone: close,
  });
  const groups = (lists.data ?? []).filter(({ items }) => items.length > 0);
  return (
    <FormModal of={adding} title={texts.addToAList(who)} submit={texts.addToList} close={close}>
      <Select
        label={texts.list}
        data={groups}
        searchable
        nothingFoundMessage={texts.noMatches}
        data-autofocus
        {...adding.form.getInputProps('list')}
      />
      {lists.data && groups.length === 0 && (
        <Text size="sm" c="dimmed">
          {texts.thereAreNoListsYet}
        </Text>
      )}
    </FormModal>
  );
}
