// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

import (
	"bytes"
	"testing"
	"unsafe"

	"gpuvision/internal/cuda"
)

// upload is a copy in CUDA memory.
func upload(t *testing.T, b []byte) uintptr {
	t.Helper()
	memory := cuda.Upload(b)
	if memory == 0 {
		t.Fatalf("there are no %d bytes of CUDA memory", len(b))
	}
	return memory
}

func download(t *testing.T, memory uintptr, b []byte) {
	t.Helper()
	if !cuda.Download(memory, b) {
		t.Fatal("CUDA memory cannot be read")
	}
}

func TestDeviceMemoryOnAStream(t *testing.T) {
	if !cuda.Enter() {
		t.Skip("there is no CUDA device")
	}
	host, device := cpu(t), onBackend(t, BackendCUDA)
	stream := Stream(cuda.NewStream())
	pixels := noise(t, 161, 97)
	memory, target := upload(t, pixels.Pix(0)), upload(t, make([]byte, 161*97))
	src := made(DeviceImage(FormatGray8, 161, 97, memory, 161, 0))(t)
	dst := made(DeviceImage(FormatGray8, 161, 97, target, 161, 0))(t)

	erosion := DefaultErodeParams()
	erosion.Radius = 2
	want, got := newImage(t, FormatGray8, 161, 97), make([]byte, 161*97)
	must(t, made(NewErode(host, &erosion))(t).Run(pixels, want))
	erode := made(NewErode(device, &erosion))(t)
	erode.SetStream(stream)
	must(t, erode.Enqueue(src, dst))
	must(t, device.Sync(stream))
	download(t, target, got)
	if !bytes.Equal(got, want.Pix(0)) {
		t.Error("the picture is another than on the CPU")
	}
	if erode.Enqueue(pixels, dst) == nil {
		t.Error("an image in host memory was enqueued")
	}

	labelling := DefaultCclParams()
	labelling.Threshold = 150
	components := make([]Component, 4096)
	found := made(made(NewCcl(host, &labelling))(t).Run(pixels, nil, components))(t)
	components = components[:found.Components]
	records := upload(t, make([]byte, len(bytesOf(components))))
	count := upload(t, make([]byte, 4))
	ccl := made(NewCcl(device, &labelling))(t)
	ccl.SetStream(stream)
	must(t, ccl.Enqueue(src, nil, CclBuffers{
		Components: DeviceBuffer{Pointer: records, Size: int64(len(bytesOf(components)))},
		Count:      DeviceBuffer{Pointer: count, Size: 4},
	}))
	if result := made(ccl.Wait())(t); result.Count != len(components) {
		t.Errorf("%d components, want %d", result.Count, len(components))
	}
	same, number := make([]Component, len(components)), int32(0)
	download(t, records, bytesOf(same))
	download(t, count, unsafe.Slice((*byte)(unsafe.Pointer(&number)), 4))
	equals(t, "components", same, components)
	if int(number) != len(components) {
		t.Errorf("the count is %d, want %d", number, len(components))
	}

	clustering := DefaultKmeansParams()
	clustering.Clusters = 3
	clusters := made(made(NewKmeans(host, &clustering))(t).Run(pixels, nil, nil))(t)
	centroids := upload(t, make([]byte, 36))
	kmeans := made(NewKmeans(device, &clustering))(t)
	kmeans.SetStream(stream)
	must(t, kmeans.Enqueue(src, nil, dst, KmeansBuffers{
		Centroids: DeviceBuffer{Pointer: centroids, Size: 36}}))
	made(kmeans.Wait())(t)
	means := make([]Centroid, 3)
	download(t, centroids, bytesOf(means))
	equals(t, "centroids", means, clusters.Centroids)
}
