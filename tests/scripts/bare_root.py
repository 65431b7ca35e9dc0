"""A Debian 12 with nothing installed, in a folder of its own, in which commands run as root.

    bare_root.py WORK SOURCES COMMAND...     runs a command in a new root, in a copy of the repository SOURCES

Package sources, certificates, names of hosts and the configuration of pip come from this machine when the root is
made. The root has /proc and the devices of debootstrap, but neither /sys nor /dev/pts. Every command has a mount
namespace of its own, which ends with the command, so no mount is left behind however the command ends.
"""

import configparser
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SUITE = "bookworm"
CERTIFICATES = "/etc/host-certificates.pem"
# A command ends when this process does.
WITH_US = ["setpriv", "--pdeathsig=KILL"]
NAMES_OF_CERTIFICATES = ["PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"]
# Of apt's configuration: how a mirror is reached and what is believed of it.
APT_OPTIONS = re.compile(r"^Acquire::((http|https)::(?!Proxy-Auto-Detect)\S+|Retries|Check-\S+|Allow\S+) ", re.IGNORECASE)
NO_NETWORK = re.compile(
    r".*(Could not resolve|Temporary failure|Name or service not known|Could not connect|Unable to connect|Failed to establish"
    r"|Network is unreachable|Connection refused|Connection timed out|Read timed out|ReadTimeoutError).*"
)


class Unavailable(Exception):
    """Why there can be no such root here."""


def stanzas(text):
    """The stanzas of a file of sources of apt (deb822) as dictionaries with names in lower case; text of more lines keeps them."""
    for paragraph in re.split(r"\n\s*\n", re.sub(r"^#.*\n?", "", text, flags=re.MULTILINE)):
        fields = re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t]+.*)*)", paragraph, re.MULTILINE)
        if fields:
            yield {name.lower(): value.strip() for name, value in fields}


def one_line_sources(text):
    """The lines `deb [OPTION=VALUE ...] URI SUITE COMPONENT...` in the form of stanzas."""
    for options, uri, suite, components in re.findall(r"^deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+([^#\n]+)", text, re.MULTILINE):
        fields = dict(option.split("=", 1) for option in options.split())
        yield {
            "types": "deb",
            "uris": uri,
            "suites": suite,
            "components": components.strip(),
            **{name.lower(): value.replace(",", " ") for name, value in fields.items()},
        }


def debian_sources(folder=pathlib.Path("/etc/apt")):
    """The sources of Debian 12 among those of this machine, as a file of stanzas, and the keyrings that they name."""
    found = []
    for path in sorted([folder / "sources.list", *(folder / "sources.list.d").glob("*")]):
        if path.is_file() and path.suffix in (".list", ".sources"):
            read = stanzas if path.suffix == ".sources" else one_line_sources
            found += read(path.read_text())
    text, keyrings = "", set()
    for fields in found:
        suites = [suite for suite in fields["suites"].split() if suite == SUITE or suite.startswith(f"{SUITE}-")]
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "off", "0")
        if enabled and suites and "deb" in fields["types"].split() and "main" in fields.get("components", "").split():
            text += f"Types: deb\nURIs: {fields['uris']}\nSuites: {' '.join(suites)}\nComponents: main\n"
            for name in ("signed-by", "trusted"):
                if name in fields:
                    text += f"{name.capitalize()}: {fields[name]}\n"
            keyrings.update(path for path in fields.get("signed-by", "").split() if path.startswith("/"))
            text += "\n"
    if f"Suites: {SUITE}" not in text:
        raise Unavailable(f"/etc/apt has no source of Debian 12 ({SUITE})")
    return text, sorted(keyrings)


def certificates(environment, pip):
    """The file of certificates that this machine trusts, or None."""
    named = [environment.get(name) for name in NAMES_OF_CERTIFICATES]
    named += [section.get("cert") for section in pip.values()]
    return next((path for path in [*named, "/etc/ssl/certs/ca-certificates.crt"] if path and pathlib.Path(path).is_file()), None)


def pip_configuration(environment):
    """What pip reads on this machine: the site's file, the user's, and the one that is named."""
    pip = configparser.RawConfigParser()
    home = pathlib.Path(environment.get("HOME", "/root"))
    named = [environment["PIP_CONFIG_FILE"]] if "PIP_CONFIG_FILE" in environment else []
    pip.read(["/etc/pip.conf", home / ".pip/pip.conf", home / ".config/pip/pip.conf", *named])
    return pip


def reason_of(run):
    """The line of a failed run that says that there is no network, or None."""
    found = NO_NETWORK.search(run.stdout + run.stderr)
    return found[0].strip() if found else None


def check_machine():
    if os.getuid() != 0:
        raise Unavailable("chroot needs root")
    for program in ("mmdebstrap", "setpriv", "unshare", "chroot", "tar", "git"):
        if not shutil.which(program):
            raise Unavailable(f"there is no program {program} (scripts/deps tests)")
    run = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True)
    if run.returncode != 0:
        raise Unavailable(f"no namespaces here: {run.stderr.strip()}")


class BareRoot:
    """`with BareRoot(work) as root`: made in the folder `work` from an archive that is kept there for the next time."""

    def __init__(self, work):
        check_machine()
        self.work = pathlib.Path(work)
        self.sources, self.keyrings = debian_sources()
        self.environment = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
            "LANG": "C.UTF-8",
        }
        self.binds = []

    def __enter__(self):
        self.work.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.work / "lock", "w", encoding="utf-8")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        for left in self.work.glob("root-*"):  # by a run that was killed
            shutil.rmtree(left)
        archive = self.archive()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="root-", dir=self.work))
        try:
            subprocess.run([*WITH_US, "tar", "--extract", f"--file={archive}", f"--directory={self.folder}"], check=True)
            self.configure()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        # Mounts are in the namespaces of commands, so nothing of the machine is below the folder.
        shutil.rmtree(self.folder)
        self.lock.close()

    def archive(self):
        """The root as debootstrap leaves it."""
        options = self.apt_options()
        key = hashlib.sha256(f"{self.sources}{options}".encode()).hexdigest()[:16]
        archive = self.work / f"{SUITE}-{key}.tar"
        if archive.exists():
            return archive
        sources, new = self.work / "debian.sources", self.work / "new.tar"
        sources.write_text(self.sources)
        command = ["mmdebstrap", "--variant=minbase", "--mode=root", "--format=tar", "--dpkgopt=force-unsafe-io"]
        run = subprocess.run([*command, SUITE, new, sources], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if run.returncode != 0:
            if reason_of(run):
                raise Unavailable(f"no network: {reason_of(run)}")
            raise RuntimeError(f"mmdebstrap failed:\n{run.stdout}{run.stderr}")
        new.rename(archive)
        return archive

    def apt_options(self):
        dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
        return "".join(f"{line}\n" for line in dump.splitlines() if APT_OPTIONS.match(line) and not line.endswith(' "";'))

    def write(self, path, text):
        target = self.folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def copy(self, source, path=None):
        target = self.folder / str(path or source).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)

    def configure(self):
        """Gives the root what this machine knows of its network."""
        for path in ("/etc/resolv.conf", "/etc/hosts", *self.keyrings):
            if pathlib.Path(path).is_file():
                self.copy(path)
        for path in (self.folder / "etc/apt/sources.list.d").iterdir():
            path.unlink()
        self.write("/etc/apt/sources.list.d/debian.sources", self.sources)
        options = self.apt_options()
        pip = pip_configuration(os.environ)
        trusted = certificates(os.environ, pip)
        if trusted:
            self.copy(trusted, CERTIFICATES)
            self.environment.update(dict.fromkeys(NAMES_OF_CERTIFICATES, CERTIFICATES))
            options += f'Acquire::https::CaInfo "{CERTIFICATES}";\n'
            for section in pip.values():
                section.pop("cert", None)
        self.write("/etc/apt/apt.conf.d/99host", options)
        # A root that is thrown away needs no disk to be waited for.
        self.write("/etc/dpkg/dpkg.cfg.d/unsafe-io", "force-unsafe-io\n")
        with open(self.folder / "etc/pip.conf", "w", encoding="utf-8") as file:
            pip.write(file)
        for name, value in os.environ.items():
            of_pip = name.startswith("PIP_") and name not in ("PIP_CERT", "PIP_CONFIG_FILE")
            if of_pip or name.lower() in ("http_proxy", "https_proxy", "no_proxy"):
                self.environment[name] = value
        # An index that does not answer would hold the tests for hours.
        self.environment["PIP_DEFAULT_TIMEOUT"] = "30"

    def bind(self, source, path):
        """Commands see the folder `source` of this machine at `path`."""
        (self.folder / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        self.binds.append((str(source), str(self.folder / path.lstrip("/"))))

    def run(self, command, folder="/", **environment):
        """Runs a command in the root; its output is in the result."""
        return self.start(command, folder, environment, capture_output=True, text=True)

    def start(self, command, folder, environment=(), **options):
        mounts = 'mount -t proc proc "$1/proc"; shift; while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec "$@"'
        binds = [word for bind in self.binds for word in bind]
        inside = ["chroot", str(self.folder), "env", "-i", f"--chdir={folder}"]
        inside += [f"{name}={value}" for name, value in {**self.environment, **dict(environment)}.items()]
        inside += command
        # The processes of the command end with their namespace.
        outside = [*WITH_US, "unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"]
        outside += ["sh", "-ec", mounts, "sh", str(self.folder), *binds, "--", *inside]
        return subprocess.run(outside, stdin=subprocess.DEVNULL, check=False, **options)


def clone(sources, target):
    """The commit of the repository `sources`, with what is changed in its tracked files."""
    diff = ["git", "-C", str(sources), "diff", "--name-only", "--no-renames", "-z", "HEAD"]
    subprocess.run([*WITH_US, "git", "clone", "--quiet", "--no-hardlinks", "--depth=1", f"file://{sources}", str(target)], check=True)
    changed = subprocess.run(diff, capture_output=True, text=True, check=True).stdout
    for name in filter(None, changed.split("\0")):
        (target / name).unlink(missing_ok=True)
        if (pathlib.Path(sources) / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(pathlib.Path(sources) / name, target / name)


def end_in_order():
    """Has SIGTERM clean up like an exception."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def compiler_cache():
    """The folder of ccache on this machine, or None."""
    run = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True)
    folder = pathlib.Path(run.stdout.strip())
    return folder if run.returncode == 0 and folder.is_dir() else None


def main(work, sources, *command):
    end_in_order()
    try:
        with BareRoot(work) as root:
            clone(pathlib.Path(sources).resolve(), root.folder / "xflow")
            if compiler_cache():
                root.bind(compiler_cache(), "/root/.cache/ccache")
            return root.start(command, "/xflow").returncode
    except Unavailable as reason:
        print(f"skipped: {reason}")
        return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
