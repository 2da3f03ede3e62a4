/** Menus to switch the organization and the project. */
import { Group, Menu, Text, UnstyledButton } from '@mantine/core';
import { IconCheck, IconExternalLink, IconPlus, IconSelector } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation, useNavigate } from 'react-router';
import { areaAt, pathOf } from '../areas.ts';
import { to, useOrg, useProject } from '../paths.ts';
import { read } from '../queries.ts';
import { useOrganization, useSession } from '../session.tsx';
import { texts } from '../texts/common.ts';
import { NewOrganization } from '../welcome/new-organization.tsx';

interface SwitcherProps {
  label: string;
  value: string;
  /** Shows the value in secondary text. */
  secondary?: boolean;
  options: { key: string; name: string; chosen: boolean; choose: () => void }[];
  /** Shown below the options. */
  more?: React.ReactNode;
}

function Switcher({ label, value, secondary = false, options, more }: SwitcherProps) {
  return (
    <Menu position="bottom-start" width={230} shadow="md" keepMounted={false}>
      <Menu.Target>
        <UnstyledButton px={8} h={30} miw={0} aria-label={`${label}: ${value}`}>
          <Group gap={4} wrap="nowrap">
            <Text
              size="sm"
              fw={secondary ? 400 : 600}
              c={secondary ? 'dimmed' : undefined}
              truncate
              maw={{ base: 96, sm: 180 }}
            >
              {value}
            </Text>
            <IconSelector size={14} stroke={1.6} color="var(--soft)" aria-hidden />
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: 'auto' }}>
        <Menu.Label>{label}</Menu.Label>
        {options.map(({ key, name, chosen, choose }) => (
          <Menu.Item
            key={key}
            onClick={choose}
            rightSection={chosen && <IconCheck size={14} aria-label={texts.selected} />}
          >
            {name}
          </Menu.Item>
        ))}
        {more}
      </Menu.Dropdown>
    </Menu>
  );
}

export function OrganizationSwitcher() {
  const { account, organizations, moved_organizations: moved } = useSession();
  const [creating, setCreating] = useState(false);
  const navigate = useNavigate();
  const current = useOrganization();
  const options = organizations.map(({ slug, name }) => ({
    key: slug,
    name,
    chosen: slug === current?.slug,
    choose: () => void navigate(to.overview(slug)),
  }));
  return (
    <>
      <Switcher
        label={texts.organization}
        value={current?.name ?? texts.organizations}
        options={options}
        more={
          <>
            {moved.length > 0 && <Menu.Label>{texts.inAnotherCell}</Menu.Label>}
            {moved.map(({ slug, name, url }) => (
              <Menu.Item
                key={slug}
                component="a"
                href={url + to.overview(slug)}
                rightSection={<IconExternalLink size={14} stroke={1.6} aria-hidden />}
              >
                {name}
              </Menu.Item>
            ))}
            {account.admin && <Menu.Divider />}
            {account.admin && (
              <Menu.Item leftSection={<IconPlus size={14} stroke={1.8} />} onClick={() => setCreating(true)}>
                {texts.newOrganization}
              </Menu.Item>
            )}
          </>
        }
      />
      {creating && <NewOrganization close={() => setCreating(false)} />}
    </>
  );
}

export function useProjects() {
  const org = useOrg();
  return useQuery({
    ...read('/api/o/{org}/p/', { path: { org } }),
    staleTime: 30_000,
  });
}

export function ProjectSwitcher() {
  const org = useOrg();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const [project, choose] = useProject();
  const { data: projects = [] } = useProjects();
  const area = areaAt(pathname, org);
  const option = (slug: string | undefined, name: string) => ({
    key: slug ?? '',
    name,
    chosen: slug === project,
    choose: () => {
      choose(slug);
      if (area) navigate(pathOf(area, org, slug));
    },
  });
  const options = [option(undefined, texts.allProjects), ...projects.map(({ slug, name }) => option(slug, name))];
  const value = options.find(({ chosen }) => chosen)?.name ?? project ?? texts.allProjects;
  return <Switcher label={texts.project} value={value} secondary options={options} />;
}
