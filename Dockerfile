# Shunter with its local queue. Build and run it with Docker or Podman; docs/queue.md says how.

FROM docker.io/library/rust:1.85-slim-bookworm AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY core core
COPY src src
RUN python3 -m venv /opt/tools \
    && /opt/tools/bin/pip install --no-cache-dir --constraint constraints.txt maturin cffi \
    && PATH="/opt/tools/bin:$PATH" maturin build --release --out dist

FROM docker.io/library/python:3.11-slim-bookworm
# tini is the first process: it takes up the supervisors that a killed daemon leaves behind.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends stress-ng tini \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /build/dist /build/constraints.txt /tmp/shunter/
RUN pip install --no-cache-dir --constraint /tmp/shunter/constraints.txt /tmp/shunter/*.whl \
    && rm -r /tmp/shunter \
    && useradd --create-home shunter \
    && install --directory --owner shunter --group shunter --mode 700 /data /work
COPY examples /opt/shunter/examples
# Queues lie in /data: mount a volume there to keep them.
ENV XDG_DATA_HOME=/data OMP_NUM_THREADS=1
VOLUME /data
USER shunter
WORKDIR /work
ENTRYPOINT ["tini", "--"]
CMD ["shunter", "--help"]
